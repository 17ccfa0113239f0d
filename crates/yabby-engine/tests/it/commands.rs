//! Chat commands and settings (`sessions.md` §15, §17).

use serde_json::{Value, json};
use yabby_domain::seam::model::Purpose;
use yabby_domain::seam::tool::Effect;
use yabby_domain::turn::Outcome;
use yabby_engine::Engine;
use yabby_testkit::scripted_model::{Line, ScriptedModel};
use yabby_testkit::stage::{Stage, direct, say, texts};

use crate::props::{MAIN, Probe, assert_settled, questions};

/// What the program answers.
async fn ask(engine: &Engine, body: &str) -> String {
    let report = say(engine, direct(body)).await;
    assert_eq!(report.outcome, Outcome::Answered, "{body}: {report:?}");
    texts(&report).join("\n")
}

#[tokio::test(start_paused = true)]
async fn commands_are_answered_without_the_model_and_stand_in_no_transcript() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    let all = [
        "/help",
        "/commands",
        "/status",
        "/whoami",
        "/id",
        "/context",
        "/context json",
        "/usage",
        "/usage tokens",
        "/send",
        "/send on",
        "/model",
        "/models",
        "/think",
        "/think high",
        "/verbose",
        "/verbose off",
        "/reasoning on",
        "/queue",
        "/queue steer",
        "/compact",
        "/stop",
        "/t low",
        "/v on",
        "/STATUS",
        "/think: medium",
        "/activation",
        "/tts on",
    ];
    for body in all {
        assert!(!ask(&engine, body).await.is_empty(), "{body}");
    }
    assert!(stage.model.asked().is_empty());
    assert!(stage.said(MAIN).await.is_empty());
    assert_eq!(stage.channel.texts().len(), all.len(), "every answer is sent");
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn help_names_every_command() {
    let stage = Stage::new(json!({}));
    let help = ask(&stage.engine(), "/help").await;
    for name in [
        "/new",
        "/status",
        "/stop",
        "/compact",
        "/model",
        "/models",
        "/think",
        "/verbose",
        "/reasoning",
        "/queue",
        "/send",
        "/usage",
        "/context",
        "/help",
        "/whoami",
        "/activation",
    ] {
        assert!(help.lines().any(|line| line.split([' ', '[']).next() == Some(name)), "{name} in {help}");
    }
}

#[tokio::test(start_paused = true)]
async fn status_tells_how_the_session_is() {
    let stage = Stage::new(json!({"session": {"sendPolicy": {"default": "deny"}}}));
    let engine = stage.engine();
    say(&engine, direct("hello")).await;
    ask(&engine, "/think high").await;
    ask(&engine, "/queue interrupt").await;
    let status = ask(&engine, "/status").await;
    for part in [
        "yabby test",
        "Session: agent:main:main",
        "test/model",
        "of 100k tokens",
        "0 compactions",
        "Thinking: high",
        "Queue: interrupt",
        "/workspace",
        "not sent",
    ] {
        assert!(status.contains(part), "{part} in {status}");
    }
    let id = stage.entry(MAIN).await.session_id().unwrap().to_owned();
    assert!(status.contains(&id));
}

#[tokio::test(start_paused = true)]
async fn whoami_tells_who_asks_and_what_they_may_do() {
    let stage = Stage::new(json!({"channels": {"telegram": {"allowFrom": ["7"]}}}));
    let engine = stage.engine();
    let told = ask(&engine, "/whoami").await;
    for part in ["Sam", "telegram", "Session: agent:main:main", "an owner"] {
        assert!(told.contains(part), "{part} in {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn context_shows_exactly_what_the_model_will_see() {
    for api in ["anthropic-messages", "openai-responses", "google-generative-ai"] {
        let probe = Probe::new("probe", Effect::None);
        let stage = Stage {
            model: ScriptedModel::named("test", api, 100_000),
            tools: vec![std::sync::Arc::new(probe)],
            ..Stage::new(json!({}))
        };
        let engine = stage.engine();
        stage.model.will([Line::call("probe", json!({"word": "x"})), Line::say("There.")]);
        say(&engine, direct("look")).await;
        let shown: Value = serde_json::from_str(&ask(&engine, "/context json").await).unwrap();
        let summary = ask(&engine, "/context").await;
        assert!(summary.contains("Messages (4)") && summary.contains("probe: "), "{summary}");
        say(&engine, direct("and?")).await;
        let request = stage.model.asked().pop().unwrap();
        let mut sent: Vec<Value> = request.messages.into_iter().map(|message| message.into_value()).collect();
        sent.pop();
        assert_eq!(shown["messages"], Value::from(sent), "{api}");
        assert_eq!(shown["system"], request.system);
        assert_eq!(shown["tools"][0]["name"], "probe");
    }
}

#[tokio::test(start_paused = true)]
async fn usage_stands_under_replies_where_it_is_wanted() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    assert!(!ask(&engine, "hello").await.contains("Usage:"));
    assert_eq!(ask(&engine, "/usage full").await, "Usage under replies: full.");
    assert_eq!(stage.entry(MAIN).await.response_usage(), Some("full"));
    let reply = ask(&engine, "hello").await;
    assert!(reply.contains("\nUsage: ") && reply.contains('$'), "{reply}");
    assert!(ask(&engine, "/usage").await.contains("Usage under replies: full"));
    ask(&engine, "/usage off").await;
    assert!(!ask(&engine, "hello").await.contains("Usage:"));
}

#[tokio::test(start_paused = true)]
async fn send_switches_replies_off_and_commands_are_still_answered() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    assert_eq!(ask(&engine, "/send off").await, "Replies are no longer sent here, until /send on.");
    assert_eq!(stage.channel.texts().len(), 1, "the answer of the command itself is sent");
    let report = say(&engine, direct("hello")).await;
    assert_eq!((report.outcome, stage.channel.texts().len()), (Outcome::Answered, 1));
    ask(&engine, "/send on").await;
    say(&engine, direct("hello")).await;
    assert_eq!(stage.channel.texts().len(), 3);
    ask(&engine, "/send inherit").await;
    assert_eq!(stage.entry(MAIN).await.send_policy(), None);
    assert!(ask(&engine, "/send perhaps").await.contains("Say /send on"));
}

#[tokio::test(start_paused = true)]
async fn a_model_is_chosen_by_its_name_or_part_of_it() {
    let stage = Stage {
        more_models: vec![ScriptedModel::named("elsewhere", "openai-responses", 50_000)],
        ..Stage::new(
            json!({"agents": {"defaults": {"models": {"elsewhere/other": {"alias": "els"}, "test/model": {}, "test/other": {}}}}}),
        )
    };
    let engine = stage.engine();
    assert!(ask(&engine, "/models").await.contains("test/model (default)"));
    assert_eq!(ask(&engine, "/models elsewhere").await, "elsewhere/other");
    assert!(ask(&engine, "/models nowhere").await.contains("no models"));
    assert_eq!(ask(&engine, "/model els").await, "Model: elsewhere/other.");
    let entry = stage.entry(MAIN).await;
    assert_eq!((entry.provider_override(), entry.model_override()), (Some("elsewhere"), Some("other")));
    assert!(ask(&engine, "/model").await.starts_with("Model: elsewhere/other"));
    let unknown = ask(&engine, "/model nonsense").await;
    assert!(unknown.starts_with("Model \"test/nonsense\" is not allowed."), "{unknown}");
    assert!(ask(&engine, "/model elsewhere/model").await.contains("not allowed"));
    assert_eq!(ask(&engine, "/model test/model").await, "Model: test/model (the default).");
    assert_eq!(stage.entry(MAIN).await.model_override(), None);
}

#[tokio::test(start_paused = true)]
async fn levels_are_set_told_and_explained() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    //  said               answered                     field              is
    let table = [
        ("/think high", "Thinking: high.", "thinkingLevel", "high"),
        ("/thinking ultrathink", "Thinking: high.", "thinkingLevel", "high"),
        ("/t min", "Thinking: minimal.", "thinkingLevel", "minimal"),
        ("/verbose full", "Verbose: full.", "verboseLevel", "full"),
        ("/v off", "Verbose: off.", "verboseLevel", "off"),
        ("/reasoning on", "Reasoning: on.", "reasoningLevel", "on"),
        ("/reason stream", "Reasoning: stream.", "reasoningLevel", "stream"),
    ];
    for (said, answered, field, is) in table {
        assert_eq!(ask(&engine, said).await, answered);
        assert_eq!(stage.entry(MAIN).await.get(field), Some(&json!(is)), "{said}");
    }
    assert!(ask(&engine, "/think").await.starts_with("Thinking is minimal now; there is off"));
    assert!(ask(&engine, "/think enormous").await.starts_with("Thinking cannot be \"enormous\""));
    assert_eq!(ask(&engine, "/think low /verbose on").await, "Thinking: low.\nVerbose: on.");
    assert!(stage.model.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn reasoning_is_shown_where_it_is_wanted() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    let thought = || {
        let blocks = vec![
            json!({"type": "thinking", "thinking": "two and two"}),
            json!({"type": "text", "text": "Four."}),
        ];
        Line::Blocks(blocks, yabby_domain::seam::model::Stop::Done)
    };
    stage.model.will([thought(), thought()]);
    assert_eq!(ask(&engine, "sum").await, "Four.");
    ask(&engine, "/reasoning on").await;
    assert_eq!(ask(&engine, "sum").await, "Reasoning:\n_two and two_\nFour.");
}

#[tokio::test(start_paused = true)]
async fn settings_among_other_words_are_taken_out_and_have_no_effect() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    let reply = ask(&engine, "please /think high look /verbose on here").await;
    assert_eq!(questions(&stage), ["user: please look here"]);
    assert_eq!(reply, "echo: please look here");
    let entry = stage.entry(MAIN).await;
    assert_eq!((entry.thinking_level(), entry.verbose_level()), (None, None));
    // Who asks how it is gets told, and an answer, too.
    let reply = ask(&engine, "/status and how are you?").await;
    assert!(reply.starts_with("yabby test") && reply.ends_with("echo: and how are you?"), "{reply}");
    // A path is no setting.
    ask(&engine, "see /var/log/think").await;
    assert_eq!(questions(&stage).last().unwrap(), "user: see /var/log/think");
}

#[tokio::test(start_paused = true)]
async fn strangers_give_no_commands() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    say(&engine, direct("hello")).await;
    let before = stage.entry(MAIN).await;
    for body in [
        "/status",
        "/think high",
        "/model test/other",
        "/send off",
        "/queue steer",
        "/compact",
        "/usage full",
        "/whoami",
    ] {
        let mut heard = direct(body);
        heard.message.command_authorized = false;
        let report = say(&engine, heard).await;
        assert_eq!((report.outcome, texts(&report).len()), (Outcome::Answered, 0), "{body}: {report:?}");
    }
    let after = stage.entry(MAIN).await;
    for field in [
        "thinkingLevel",
        "modelOverride",
        "sendPolicy",
        "queueMode",
        "responseUsage",
        "sessionId",
        "compactionCount",
    ] {
        assert_eq!(after.get(field), before.get(field), "{field}");
    }
    assert_eq!(stage.model.asked().len(), 1, "a stranger's command is no business of the model");
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_yet_says_so_and_what_is_no_command_goes_to_the_model() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    assert_eq!(ask(&engine, "/tts on").await, "/tts is not available here yet. /help tells what is.");
    ask(&engine, "/unheardof thing").await;
    ask(&engine, "/config show").await;
    assert_eq!(questions(&stage), ["user: /unheardof thing", "user: /config show"]);
}

#[tokio::test(start_paused = true)]
async fn settings_of_a_session_hold_for_its_turns() {
    let stage = Stage {
        more_models: vec![ScriptedModel::named("elsewhere", "anthropic-messages", 50_000)],
        ..Stage::new(json!({}))
    };
    let engine = stage.engine();
    ask(&engine, "/model elsewhere/other").await;
    let mut other = direct("hello");
    other.message.session_key = Some("agent:main:telegram:dm:8".to_owned());
    say(&engine, other).await;
    say(&engine, direct("hello")).await;
    assert_eq!(stage.model.asked().len(), 1, "the other session asks the default model");
    let elsewhere = stage.more_models[0].asked();
    assert_eq!((elsewhere.len(), elsewhere[0].model.model.as_str()), (1, "other"));
    assert_eq!(elsewhere[0].purpose, Purpose::Turn);
}

#[tokio::test(start_paused = true)]
async fn settings_before_other_words_make_no_command_of_them() {
    let stage = Stage::new(json!({"session": {"resetTriggers": ["/fresh"]}}));
    let engine = stage.engine();
    for (body, heard) in [
        ("/think high what is up", "what is up"),
        ("/queue steer hi", "hi"),
        ("/model please answer", "answer"),
        ("/verbose on tell me", "tell me"),
        ("hello /think low there", "hello there"),
        // With other words for it, these mean nothing.
        ("/new", "/new"),
        ("/reset now", "/reset now"),
    ] {
        stage.model.will([Line::say("Well.")]);
        let report = say(&engine, direct(body)).await;
        assert_eq!(texts(&report), ["Well."], "{body}");
        let last = stage.model.last_heard().pop().unwrap();
        assert!(last.contains(heard) && !last.contains("/think"), "{body}: {last}");
    }
    // In front of a command they leave it one.
    assert!(ask(&engine, "/think high /status").await.contains("Session"));
}

#[tokio::test(start_paused = true)]
async fn what_is_off_by_itself_is_no_word_in_the_record() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    for (on, off, field) in [
        ("/reasoning on", "/reasoning off", "reasoningLevel"),
        ("/usage full", "/usage off", "responseUsage"),
    ] {
        ask(&engine, on).await;
        assert!(stage.entry(MAIN).await.as_object().get(field).is_some(), "{on}");
        ask(&engine, off).await;
        assert_eq!(stage.entry(MAIN).await.as_object().get(field), None, "{off}");
    }
}
