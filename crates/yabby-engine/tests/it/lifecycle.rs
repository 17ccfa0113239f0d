//! How sessions begin, go on and end (`sessions.md` §9, §10).

use std::sync::Arc;

use serde_json::{Value, json};
use yabby_domain::seam::{SessionStore, TranscriptStore};
use yabby_domain::session::entry::Patch;
use yabby_domain::session::key::SessionKey;
use yabby_engine::events::EventKind;
use yabby_engine::hooks::HookPoint;
use yabby_testkit::scripted_model::Line;
use yabby_testkit::stage::{Stage, direct, eventually, in_group, say, texts};

use crate::props::{Ear, MAIN, questions};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

async fn session_id(stage: &Stage, key: &str) -> String {
    stage.entry(key).await.session_id().unwrap_or_default().to_owned()
}

async fn set(stage: &Stage, key: &str, fields: Value) {
    let change = move |entry: &mut Option<yabby_domain::session::entry::SessionEntry>| {
        let mut patch = Patch::default();
        for (name, value) in fields.as_object().unwrap() {
            patch.put(name, Some(value.clone()));
        }
        entry.get_or_insert_default().apply(&patch);
    };
    stage.sessions.update(&SessionKey::new(key), Box::new(change)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_word_begins_a_session_anew() {
    for word in ["/new", "/reset", "/NEW"] {
        let stage = Stage::new(json!({}));
        let engine = stage.engine();
        say(&engine, direct("hello")).await;
        let old = session_id(&stage, MAIN).await;
        let old_file = stage.entry(MAIN).await.session_file().unwrap().to_owned();
        let report = say(&engine, direct(&format!("{word} tell me a joke"))).await;
        assert_ne!(session_id(&stage, MAIN).await, old, "{word}");
        assert_eq!(
            texts(&report),
            ["✅ New session started · model: test/model", "echo: tell me a joke"],
            "{word}"
        );
        assert_eq!(stage.said(MAIN).await, ["user: tell me a joke", "assistant: echo: tell me a joke"]);
        // The old conversation is where it was.
        let name = yabby_domain::session::path::name_of(&old_file).to_owned();
        let id = yabby_domain::transcript::file_name::TranscriptId::of_file(&name).unwrap();
        let transcript = stage.transcripts.load(&id).await.unwrap().unwrap();
        assert_eq!(transcript.context().messages.len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_bare_reset_asks_for_a_greeting() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    stage.model.will([Line::say("Hello again!")]);
    let report = say(&engine, direct("/new")).await;
    assert!(questions(&stage)[0].starts_with("user: A new session was started via /new or /reset."));
    assert_eq!(texts(&report)[1], "Hello again!");
}

#[tokio::test(start_paused = true)]
async fn a_reset_may_name_a_model() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    let report = say(&engine, direct("/new test/other what is new?")).await;
    assert_eq!(texts(&report)[0], "✅ New session started · model: test/other (default: test/model)");
    let entry = stage.entry(MAIN).await;
    assert_eq!((entry.provider_override(), entry.model_override()), (Some("test"), Some("other")));
    assert_eq!(stage.model.asked()[0].model.model, "other");
    assert_eq!(questions(&stage), ["user: what is new?"]);
    // The next reset forgets it.
    say(&engine, direct("/new hi")).await;
    assert_eq!(stage.entry(MAIN).await.model_override(), None);
}

#[tokio::test(start_paused = true)]
async fn other_words_and_other_people_do_not_reset() {
    let stage = Stage::new(json!({"session": {"resetTriggers": ["/begin"]}}));
    let engine = stage.engine();
    say(&engine, direct("hello")).await;
    let old = session_id(&stage, MAIN).await;
    let mut stranger = direct("/begin again");
    stranger.message.command_authorized = false;
    say(&engine, stranger).await;
    assert_eq!(session_id(&stage, MAIN).await, old);
    assert_eq!(questions(&stage)[1], "user: /begin again", "a stranger's word is a word like any other");
    say(&engine, direct("/newish")).await;
    assert_eq!(session_id(&stage, MAIN).await, old);
    say(&engine, direct("/begin again")).await;
    assert_ne!(session_id(&stage, MAIN).await, old);
}

#[tokio::test(start_paused = true)]
async fn time_ends_a_session_as_configured() {
    let idle = json!({"session": {"reset": {"mode": "idle", "idleMinutes": 30}}});
    let by_type = json!({"session": {"reset": {"mode": "daily"}, "resetByType": {"dm": {"mode": "idle", "idleMinutes": 10}}}});
    let by_channel = json!({"session": {"reset": {"mode": "idle", "idleMinutes": 600}, "resetByChannel": {"telegram": {"mode": "idle", "idleMinutes": 5}}}});
    let legacy = json!({"session": {"idleMinutes": 20}});
    //  configuration  after    new
    let table = [
        (json!({}), 15 * HOUR, false),
        // Four in the morning comes sixteen hours after noon.
        (json!({}), 17 * HOUR, true),
        (json!({"session": {"reset": {"mode": "daily", "atHour": 13}}}), 2 * HOUR, true),
        (idle.clone(), 30 * MINUTE, false),
        (idle, 31 * MINUTE, true),
        (by_type.clone(), 9 * MINUTE, false),
        (by_type, 11 * MINUTE, true),
        (by_channel.clone(), 4 * MINUTE, false),
        (by_channel, 6 * MINUTE, true),
        (legacy, 21 * MINUTE, true),
    ];
    for (config, after, is_new) in table {
        let stage = Stage::new(config.clone());
        let engine = stage.engine();
        say(&engine, direct("hello")).await;
        let old = session_id(&stage, MAIN).await;
        stage.clock.advance(after);
        say(&engine, direct("still there?")).await;
        assert_eq!(session_id(&stage, MAIN).await != old, is_new, "{config} {after}");
        let heard = stage.model.last_heard().len();
        assert_eq!(heard, if is_new { 1 } else { 3 }, "{config} {after}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_has_a_policy_of_its_own() {
    let stage = Stage::new(json!({
        "session": {"resetByType": {"group": {"mode": "idle", "idleMinutes": 5}}},
        "channels": {"telegram": {"groups": {"*": {"requireMention": false}}}},
    }));
    let engine = stage.engine();
    say(&engine, direct("hello")).await;
    say(&engine, in_group("Al", "hello")).await;
    let (mine, ours) = (session_id(&stage, MAIN).await, session_id(&stage, crate::props::GROUP).await);
    stage.clock.advance(6 * MINUTE);
    say(&engine, direct("again")).await;
    say(&engine, in_group("Al", "again")).await;
    assert_eq!(session_id(&stage, MAIN).await, mine);
    assert_ne!(session_id(&stage, crate::props::GROUP).await, ours);
}

#[tokio::test(start_paused = true)]
async fn settings_end_with_a_session_and_the_rest_of_the_record_survives() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    say(&engine, direct("hello")).await;
    set(
        &stage,
        MAIN,
        json!({
            "thinkingLevel": "high", "verboseLevel": "on", "reasoningLevel": "on", "responseUsage": "tokens",
            "modelOverride": "other", "providerOverride": "test", "sendPolicy": "allow", "queueMode": "steer",
            "label": "work", "spawnedBy": "agent:main:x", "groupActivation": "always", "execHost": "gateway",
            "memoryFlushAt": 5, "memoryFlushCompactionCount": 3, "compactionCount": 3, "unheardOf": {"x": null},
        }),
    )
    .await;
    say(&engine, direct("/new hi")).await;
    let entry = stage.entry(MAIN).await;
    assert_eq!(
        [
            entry.thinking_level(),
            entry.verbose_level(),
            entry.reasoning_level(),
            entry.response_usage(),
            entry.model_override(),
            entry.send_policy(),
            entry.queue_mode()
        ],
        [None; 7]
    );
    assert_eq!((entry.label(), entry.group_activation()), (Some("work"), Some("always")));
    assert_eq!(entry.get("execHost"), Some(&json!("gateway")));
    assert_eq!(entry.get("unheardOf"), Some(&json!({"x": null})));
    assert_eq!((entry.compaction_count(), entry.memory_flush_compaction_count()), (Some(0.0), None));
}

#[tokio::test(start_paused = true)]
async fn what_the_old_session_took_says_nothing_about_the_new_one() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    say(&engine, direct("hello")).await;
    set(&stage, MAIN, json!({"totalTokens": 99_000, "inputTokens": 99_000})).await;
    // The old session is nearly full; the transcript knows better, too.
    say(&engine, direct("/new hi")).await;
    say(&engine, direct("and?")).await;
    let purposes: Vec<_> = stage.model.asked().iter().map(|request| request.purpose.as_str()).collect();
    assert_eq!(purposes, ["turn", "turn", "turn"]);
    assert!(stage.entry(MAIN).await.total_tokens().unwrap() < 2000.0);
    set(&stage, MAIN, json!({"totalTokens": 99_000})).await;
    stage.model.will([Line::Fail(yabby_domain::seam::model::ModelErrorKind::Broken, "no line".to_owned())]);
    say(&engine, direct("/reset hi")).await;
    let status = texts(&say(&engine, direct("/status")).await).join("\n");
    assert!(!status.contains("99k"), "{status}");
}

#[tokio::test(start_paused = true)]
async fn a_roll_over_is_told_where_somebody_wants_to_know() {
    let stage = Stage::new(json!({"agents": {"defaults": {"verboseDefault": "on"}}}));
    let engine = stage.engine();
    let first = say(&engine, direct("hello")).await;
    let notice = |id: &str| format!("🧭 New session: {id}");
    assert_eq!(texts(&first)[0], notice(&session_id(&stage, MAIN).await));
    assert_eq!(texts(&say(&engine, direct("more")).await).len(), 1);
    stage.clock.advance(24 * HOUR);
    let rolled = say(&engine, direct("a new day")).await;
    assert_eq!(texts(&rolled), [notice(&session_id(&stage, MAIN).await), "echo: a new day".to_owned()]);
}

#[tokio::test(start_paused = true)]
async fn hooks_and_events_tell_of_beginnings_and_ends() {
    let ear = Arc::new(Ear::new("ear", &[HookPoint::SessionStart, HookPoint::SessionEnd]));
    let stage = Stage { hooks: vec![ear.clone()], ..Stage::new(json!({})) };
    let engine = stage.engine();
    let mut events = engine.subscribe();
    say(&engine, direct("hello")).await;
    let first = session_id(&stage, MAIN).await;
    say(&engine, direct("/new hi")).await;
    let second = session_id(&stage, MAIN).await;
    eventually("three calls", || ear.events().len() == 3).await;
    let mut told = ear.events();
    told.sort_by_key(|event| (event["hook"] == "session_start", event["resumedFrom"].is_string()));
    assert_eq!(
        told,
        [
            json!({"hook": "session_end", "sessionKey": MAIN, "sessionId": first}),
            json!({"hook": "session_start", "sessionKey": MAIN, "sessionId": first, "resumedFrom": null}),
            json!({"hook": "session_start", "sessionKey": MAIN, "sessionId": second, "resumedFrom": first}),
        ]
    );
    let mut seen = Vec::new();
    while let Ok(event) = events.try_recv() {
        match event.kind {
            EventKind::SessionStarted { session_id, .. } => seen.push(format!("start {session_id}")),
            EventKind::SessionEnded { session_id } => seen.push(format!("end {session_id}")),
            _ => {}
        }
    }
    assert_eq!(seen, [format!("start {first}"), format!("end {first}"), format!("start {second}")]);
}

#[tokio::test(start_paused = true)]
async fn a_thread_goes_on_from_its_parent_and_the_parent_from_itself() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    say(&engine, direct("the plan is blue")).await;
    let key = "agent:main:telegram:group:-5:topic:9";
    let in_thread = |body: &str| {
        let mut heard = direct(body);
        heard.message.session_key = Some(key.to_owned());
        heard.message.parent_session_key = Some(MAIN.to_owned());
        heard.message.thread_starter_body = Some("Let us talk".to_owned());
        heard.message.thread_label = Some("Plans".to_owned());
        heard
    };
    say(&engine, in_thread("which colour?")).await;
    assert_eq!(
        stage.said(key).await,
        [
            "user: the plan is blue",
            "assistant: echo: the plan is blue",
            "user: [Thread starter - for context]\nLet us talk\n\nwhich colour?",
            "assistant: echo: [Thread starter - for context]\nLet us talk\n\nwhich colour?"
        ]
    );
    assert_eq!(stage.entry(key).await.display_name(), Some("Plans"));
    say(&engine, in_thread("sure?")).await;
    assert_eq!(questions(&stage)[2], "user: sure?", "the starter is told once");
    assert_eq!(stage.said(MAIN).await.len(), 2);
    // A parent that does not exist is no reason to fail.
    let mut orphan = in_thread("hello?");
    orphan.message.session_key = Some("agent:main:telegram:group:-5:topic:10".to_owned());
    orphan.message.parent_session_key = Some("agent:main:nobody".to_owned());
    say(&engine, orphan).await;
    assert_eq!(stage.said("agent:main:telegram:group:-5:topic:10").await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_has_its_own_record_is_not_forked_again() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    say(&engine, direct("the plan is blue")).await;
    let key = "agent:main:telegram:group:-5:topic:9";
    let in_thread = |body: &str| {
        let mut heard = direct(body);
        heard.message.session_key = Some(key.to_owned());
        heard.message.parent_session_key = Some(MAIN.to_owned());
        heard
    };
    say(&engine, in_thread("which colour?")).await;
    assert_eq!(stage.said(key).await.len(), 4);
    say(&engine, in_thread("/new hello")).await;
    assert_eq!(stage.said(key).await, ["user: hello", "assistant: echo: hello"]);
    // The same goes for one that is too old to go on.
    stage.clock.advance(3 * 24 * 3_600_000);
    say(&engine, in_thread("still here?")).await;
    assert_eq!(stage.said(key).await, ["user: still here?", "assistant: echo: still here?"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_without_text_is_answered_without_a_run() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    let report = say(&engine, direct("  ")).await;
    assert_eq!(
        texts(&report),
        ["I didn't receive any text in your message. Please resend or add a caption."]
    );
    assert!(stage.model.asked().is_empty());
    let mut picture = direct("");
    picture.message.media =
        vec![yabby_domain::inbound::media::Attachment { path: "a.png".to_owned(), ..Default::default() }];
    say(&engine, picture).await;
    assert!(questions(&stage)[0].starts_with("user: [media attached: a.png]\nTo send an image back"));
}

#[tokio::test(start_paused = true)]
async fn a_new_main_session_opens_with_its_channels() {
    let stage = Stage::new(
        json!({"channels": {"telegram": {"enabled": true}, "slack": {"enabled": false}, "signal": {}}}),
    );
    let engine = stage.engine();
    say(&engine, direct("hello")).await;
    let first = questions(&stage)[0].clone();
    for line in [
        "Channel telegram: connected.",
        "Channel slack: switched off.",
        "Channel signal: configured, not connected.",
    ] {
        assert!(first.contains(line), "{first}");
    }
    assert!(first.ends_with("\n\nhello"), "{first}");
    say(&engine, direct("again")).await;
    assert_eq!(questions(&stage)[1], "user: again");
    let mut elsewhere = direct("hello");
    elsewhere.message.session_key = Some("agent:main:telegram:dm:8".to_owned());
    say(&engine, elsewhere).await;
    assert_eq!(questions(&stage)[2], "user: hello", "only the main session is told");
}

#[tokio::test(start_paused = true)]
async fn notices_stand_before_the_next_prompt_of_their_session_once() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    engine.notice(&SessionKey::new(MAIN), "The door bell rang.");
    engine.notice(&SessionKey::new(MAIN), "The door bell rang.");
    engine.notice(&SessionKey::new(MAIN), "heartbeat poll");
    engine.notice(&SessionKey::new("agent:main:other"), "Not for you.");
    say(&engine, direct("what was that?")).await;
    assert_eq!(
        questions(&stage)[0],
        "user: System: [2026-02-03 12:00:00 UTC] The door bell rang.\n\nwhat was that?"
    );
    say(&engine, direct("and now?")).await;
    assert_eq!(questions(&stage)[1], "user: and now?");
}

#[tokio::test(start_paused = true)]
async fn two_processes_that_hear_first_words_at_once_begin_one_session() {
    let stage = Stage::new(json!({}));
    let engines = [stage.engine(), stage.engine(), stage.engine()];
    let said = engines.iter().map(|engine| say(engine, direct("hello")));
    let reports = futures_util::future::join_all(said).await;
    let first = reports[0].session_id.clone();
    assert!(first.is_some());
    assert!(reports.iter().all(|report| report.session_id == first), "{reports:?}");
}
