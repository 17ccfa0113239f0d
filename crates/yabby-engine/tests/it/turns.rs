//! A message becomes a reply.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::inbound::InboundMessage;
use yabby_domain::principal::{Principal, ReplyTo, SystemSource};
use yabby_domain::seam::tool::Effect;
use yabby_domain::session::key::SessionKey;
use yabby_domain::turn::Outcome;
use yabby_engine::events::EventKind;
use yabby_engine::{Submission, SubmitOutcome};
use yabby_testkit::scripted_model::Line;
use yabby_testkit::stage::{Stage, direct, say, texts};

use crate::props::{MAIN, Probe, assert_settled};

#[tokio::test(start_paused = true)]
async fn a_message_is_answered_transcribed_and_recorded() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    stage.model.will([Line::say("Hello Sam!")]);
    let report = say(&engine, direct("hi")).await;
    assert_eq!((report.outcome, texts(&report)), (Outcome::Answered, vec!["Hello Sam!".to_owned()]));
    assert_eq!(stage.channel.texts(), ["Hello Sam!"]);
    assert_eq!(stage.said(MAIN).await, ["user: hi", "assistant: Hello Sam!"]);
    let entry = stage.entry(MAIN).await;
    assert_eq!(
        (entry.model(), entry.model_provider(), entry.system_sent()),
        (Some("model"), Some("test"), Some(true))
    );
    assert!(entry.total_tokens().unwrap() > 0.0);
    assert_eq!(stage.calls.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn clients_see_a_turn_as_it_happens() {
    let probe = Arc::new(Probe::new("probe", Effect::None));
    let stage = Stage { tools: vec![probe], ..Stage::new(json!({})) };
    let engine = stage.engine();
    let mut events = engine.subscribe();
    stage.model.will([Line::call("probe", json!({})), Line::say("There.")]);
    let report = say(&engine, direct("look")).await;
    let mut seen = Vec::new();
    let mut last = None;
    while let Ok(event) = events.try_recv() {
        assert!(last.is_none_or(|last| last < event.number), "events are numbered in order");
        last = Some(event.number);
        assert_eq!(event.session.as_str(), MAIN);
        assert!(event.turn.is_none_or(|turn| turn == report.turn));
        seen.push(match event.kind {
            EventKind::SessionStarted { .. } => "session started",
            EventKind::RunStarted { .. } => "run started",
            EventKind::Text(_) => "text",
            EventKind::ToolStarted { .. } => "tool started",
            EventKind::ToolEnded { .. } => "tool ended",
            EventKind::Called(_) => "called",
            EventKind::TranscriptChanged { .. } => "transcript",
            EventKind::Delivered { .. } => "delivered",
            EventKind::RunEnded { .. } => "run ended",
            _ => "other",
        });
    }
    assert_eq!(
        seen,
        [
            "session started",
            "run started",
            "called",
            "transcript",
            "tool started",
            "tool ended",
            "transcript",
            "text",
            "called",
            "transcript",
            "delivered",
            "run ended"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_context_is_what_the_last_call_read_and_every_call_is_on_the_books() {
    let probe = Arc::new(Probe::new("probe", Effect::None));
    let stage = Stage { tools: vec![probe], ..Stage::new(json!({})) };
    let engine = stage.engine();
    stage.model.will([Line::call("probe", json!({})), Line::call("probe", json!({})), Line::say("There.")]);
    let report = say(&engine, direct("look")).await;
    let calls = stage.calls.calls();
    assert_eq!(calls.len(), 3);
    #[expect(clippy::cast_precision_loss, reason = "tests are short")]
    let tokens = |count: u64| count as f64;
    let last = calls.last().unwrap();
    let (input, output) = (tokens(last.input), tokens(last.output));
    let entry = stage.entry(MAIN).await;
    assert_eq!((entry.total_tokens(), entry.input_tokens()), (Some(input), Some(input)));
    assert_eq!(entry.output_tokens(), Some(output));
    assert_eq!(report.usage.unwrap().input, Some(input));
    for call in &calls {
        assert_eq!((call.session_key.as_str(), call.purpose.as_str()), (MAIN, "turn"));
        assert_eq!(call.turn.as_deref(), Some(report.turn.as_str()));
        let cost = (tokens(call.input) + 2.0 * tokens(call.output)) / 1e6;
        assert!((call.cost.unwrap() - cost).abs() < 1e-12, "{call:?}");
    }
    let report = entry.get("systemPromptReport").unwrap();
    assert_eq!((&report["source"], &report["sessionKey"]), (&json!("run"), &json!(MAIN)));
}

#[tokio::test(start_paused = true)]
async fn a_turn_syncs_no_more_than_it_must() {
    use yabby_domain::seam::journal::Promise;
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    say(&engine, direct("hello")).await;
    let promises = stage.journal.promises();
    let durable = promises.iter().filter(|promise| **promise == Promise::Durable).count();
    assert_eq!(durable, 1, "only the acceptance is a promise: {promises:?}");
}

#[tokio::test(start_paused = true)]
async fn a_turn_gets_ready_while_its_message_is_written_down_and_changes_nothing_before() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    stage.model.will([Line::say("First."), Line::say("Second."), Line::say("Third.")]);
    say(&engine, direct("one")).await;
    assert!(engine.idle(Duration::from_secs(60)).await);
    for (body, key) in [("two", MAIN), ("three", "agent:main:elsewhere")] {
        let before = (stage.model.asked().len(), stage.said(key).await, stage.entry(key).await);
        let mut heard = direct(body);
        heard.message.session_key = Some(key.to_owned());
        let mut events = engine.subscribe();
        let busy = stage.journal.hold_up().await;
        let hearing = tokio::spawn({
            let engine = engine.clone();
            async move { say(&engine, heard).await }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!((stage.model.asked().len(), stage.said(key).await, stage.entry(key).await), before);
        assert!(events.try_recv().is_err(), "nobody is told of it");
        drop(busy);
        assert_eq!(hearing.await.unwrap().outcome, Outcome::Answered);
    }
    assert_eq!(stage.said(MAIN).await.last().unwrap(), "assistant: Second.");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_written_down_leaves_nothing_behind() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    stage.model.will([Line::say("First."), Line::say("Second.")]);
    say(&engine, direct("one")).await;
    assert!(engine.idle(Duration::from_secs(60)).await);
    engine.notice(&SessionKey::new(MAIN), "The cat is back.");
    let before = (stage.said(MAIN).await, stage.entry(MAIN).await);
    let mut events = engine.subscribe();
    let mut heard = direct("two");
    heard.message.message_id = Some("m2".to_owned());
    let busy = stage.journal.hold_up().await;
    stage.journal.fail_next();
    let hearing = tokio::spawn({
        let (engine, heard) = (engine.clone(), heard.clone());
        async move { engine.submit(heard).await.is_err() }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    drop(busy);
    assert!(hearing.await.unwrap(), "whoever sent it is told");
    assert!(engine.idle(Duration::from_secs(60)).await);
    assert_eq!((stage.said(MAIN).await, stage.entry(MAIN).await), before);
    assert!(events.try_recv().is_err(), "nobody else is");
    let report = say(&engine, heard).await;
    assert_eq!(texts(&report), ["Second."]);
    assert!(stage.model.last_heard().last().unwrap().contains("The cat is back."));
    assert!(engine.idle(Duration::from_secs(60)).await);
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_that_has_nothing_to_say_says_nothing() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    stage.model.will([Line::say("HEARTBEAT_OK"), Line::say("The oven is still on!")]);
    for expected in [0, 1] {
        let mut heard = direct("heartbeat: anything to do?");
        heard.principal = Principal::System { source: SystemSource::Heartbeat };
        assert_eq!(say(&engine, heard).await.outcome, Outcome::Answered);
        assert_eq!(stage.channel.texts().len(), expected);
    }
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_new_configuration_holds_from_the_next_turn_on() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    say(&engine, direct("hello")).await;
    engine.set_config(Arc::new(Config::new(json!({"messages": {"responsePrefix": "[yabby]"}}))));
    say(&engine, direct("again")).await;
    assert_eq!(stage.channel.texts(), ["echo: hello", "[yabby] echo: again"]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_gets_the_reply_alone() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    let mut heard = direct("hello");
    heard.principal = Principal::LocalOwner;
    heard.reply_to = ReplyTo::Caller;
    heard.options.extra_system_prompt = Some("Today you are a pirate.".to_owned());
    let report = say(&engine, heard).await;
    assert_eq!(texts(&report), ["echo: hello"]);
    assert!(stage.channel.texts().is_empty());
    assert!(stage.model.asked()[0].system.ends_with("Today you are a pirate."));
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_answer_is_given_up_in_time() {
    let stage = Stage::new(json!({"agents": {"defaults": {"timeoutSeconds": 20}}}));
    let engine = stage.engine();
    stage.model.will([crate::props::paused("Well,", &crate::props::gate(), "")]);
    let began = tokio::time::Instant::now();
    let report = say(&engine, direct("hello")).await;
    assert_eq!((report.outcome, began.elapsed().as_secs()), (Outcome::Failed, 20));
    assert!(texts(&report)[0].contains("timeoutSeconds"), "{report:?}");
    assert_eq!(say(&engine, direct("again")).await.outcome, Outcome::Answered);
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_repeat_waits_until_the_first_is_on_record() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    let mut heard = direct("once");
    heard.message.message_id = Some("m1".to_owned());
    //  the first is written, what the two deliveries are answered
    for (is_written, answers) in [(true, ["accepted", "repeated"]), (false, ["refused", "accepted"])] {
        let busy = stage.journal.hold_up().await;
        if !is_written {
            heard.message.message_id = Some("m2".to_owned());
            stage.journal.fail_next();
        }
        let hear = || {
            let (engine, heard) = (engine.clone(), heard.clone());
            tokio::spawn(async move {
                match engine.submit(heard).await {
                    Ok(SubmitOutcome::Accepted(_)) => "accepted",
                    Ok(SubmitOutcome::Repeated) => "repeated",
                    Ok(_) => "ignored",
                    Err(_) => "refused",
                }
            })
        };
        let first = hear();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let second = hear();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!first.is_finished() && !second.is_finished(), "nothing is promised before it is on record");
        drop(busy);
        assert_eq!([first.await.unwrap(), second.await.unwrap()], answers);
        assert!(engine.idle(Duration::from_secs(60)).await);
    }
    assert_eq!(stage.model.asked().len(), 2);
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_spelt_out_line_feed_is_kept_unless_a_platform_sent_it() {
    const WORDS: &str = r"look at C:\new\notes.txt";
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    stage.model.will(["One.", "Two.", "Three."].map(Line::say));
    let typed = |words: &str| {
        let message = InboundMessage {
            body: Some(words.to_owned()),
            session_key: Some(MAIN.to_owned()),
            command_authorized: true,
            ..InboundMessage::default()
        };
        Submission { message, ..Submission::default() }
    };
    say(&engine, typed(WORDS)).await;
    say(&engine, direct(WORDS)).await;
    let said = stage.said(MAIN).await;
    assert_eq!(said[0], format!("user: {WORDS}"));
    assert_eq!(said[2], "user: look at C:\new\notes.txt");
    say(&engine, typed(&format!("/new {WORDS}"))).await;
    assert_eq!(stage.said(MAIN).await[0], format!("user: {WORDS}"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_words_is_told_in_a_sentence_and_a_silent_one_is_not() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    for (said, told) in [("", 1), (" \n\t", 1), ("\u{200b}\u{a0}", 1), ("NO_REPLY", 0)] {
        stage.model.will([Line::say(said)]);
        let mut events = engine.subscribe();
        let report = say(&engine, direct("hi")).await;
        let told_texts = texts(&report);
        assert_eq!(told_texts.len(), told, "{said:?}: {told_texts:?}");
        let is_notice = |text: &String| text.starts_with("The model answered with nothing.");
        assert!(told_texts.iter().all(is_notice), "{told_texts:?}");
        let mut streamed = Vec::new();
        while let Ok(event) = events.try_recv() {
            if let EventKind::Text(text) = event.kind {
                streamed.push(text);
            }
        }
        assert_eq!(streamed.iter().filter(|text| is_notice(text)).count(), told, "{streamed:?}");
    }
    // A heartbeat that finds nothing to say says nothing.
    stage.model.will([Line::say("")]);
    let principal = Principal::System { source: SystemSource::Heartbeat };
    let report = say(&engine, Submission { principal, ..direct("anything?") }).await;
    assert!(texts(&report).is_empty(), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_an_end_is_stopped_with_a_reason() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    stage.model.will([Line::say(&"all work and no play ".repeat(500_000)), Line::say("Fine.")]);
    let report = say(&engine, direct("write")).await;
    assert_eq!(report.outcome, Outcome::Failed);
    assert!(texts(&report).concat().contains("more than 8 MB"), "{:?}", report.error);
    // The conversation goes on.
    assert_eq!(texts(&say(&engine, direct("and now?")).await), ["Fine."]);
    // The arguments of a tool call are a part of the answer, too.
    let long = json!({"path": "long.txt", "content": "all work and no play ".repeat(500_000)});
    stage.model.will([Line::call("write", long)]);
    let report = say(&engine, direct("write a file")).await;
    assert!(texts(&report).concat().contains("more than 8 MB"), "{:?}", report.error);
}

#[tokio::test(start_paused = true)]
async fn a_message_is_repeated_also_when_the_time_of_day_was_set() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    let numbered = || {
        let heard = direct("hello");
        Submission { message: InboundMessage { message_id: Some("m1".to_owned()), ..heard.message }, ..heard }
    };
    say(&engine, numbered()).await;
    stage.clock.advance(24 * 3600 * 1000);
    assert!(matches!(engine.submit(numbered()).await.unwrap(), SubmitOutcome::Repeated), "it ran again");
    tokio::time::advance(Duration::from_secs(21 * 60)).await;
    assert!(
        matches!(engine.submit(numbered()).await.unwrap(), SubmitOutcome::Accepted(_)),
        "that was long ago"
    );
}
