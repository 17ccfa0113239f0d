//! Runs, as clients begin, follow and stop them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use yabby_domain::turn::progress;
use yabby_testkit::scripted_model::Line;
use yabby_testkit::stage::eventually;

use crate::client::{Client, Stand};

const KEY: &str = "agent:main:main";

fn gate() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(0))
}

fn paused(first: &str, gate: &Arc<Semaphore>, second: &str) -> Line {
    Line::Pause(first.to_owned(), gate.clone(), second.to_owned())
}

fn said(key: &str, words: &str, run: &str) -> Value {
    json!({"sessionKey": key, "message": words, "idempotencyKey": run})
}

/// The last word on a run.
async fn ended(client: &mut Client, run: &str) -> Value {
    loop {
        let told = client.event("chat").await;
        if told["runId"] == run && told["state"] != "delta" {
            return told;
        }
    }
}

/// A gateway where whatever comes during a run waits, and a run that stands still.
async fn busy(held: &Arc<Semaphore>) -> (Stand, Client) {
    let stand = Stand::new(json!({"messages": {"queue": {"mode": "followup", "debounceMs": 0}}})).await;
    let mut owner = stand.owner().await;
    stand.stage.model.will([paused("one", held, " and a half")]);
    owner.get("chat.send", said(KEY, "first", "a")).await;
    eventually("the model is asked", || stand.stage.model.asked().len() == 1).await;
    (stand, owner)
}

#[tokio::test]
async fn a_session_that_is_stopped_does_not_go_on_with_what_waited_there() {
    let held = gate();
    let (stand, mut owner) = busy(&held).await;
    owner.get("chat.send", said(KEY, "second", "b")).await;
    let stopped = owner.get("chat.abort", json!({"sessionKey": KEY})).await;
    let mut runs: Vec<&str> =
        stopped["runIds"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    runs.sort_unstable();
    assert_eq!(runs, ["a", "b"]);
    // A restart that comes now begins nothing of it again.
    let turns = progress(stand.stage.journal.records());
    let over = turns.values().filter(|turn| turn.settled.is_some() || turn.not_answered.is_some());
    assert_eq!((turns.len(), over.count()), (2, 2), "{turns:?}");
    // What is said after it is answered.
    owner.get("chat.send", said(KEY, "third", "c")).await;
    held.add_permits(1);
    assert_eq!(ended(&mut owner, "c").await["state"], "final");
    let asked = stand.stage.said(KEY).await;
    assert!(!asked.iter().any(|line| line.contains("second")), "{asked:?}");
    assert_eq!(stand.stage.model.asked().len(), 2);
}

#[tokio::test]
async fn a_run_that_waits_is_stopped_alone() {
    let held = gate();
    let (stand, mut owner) = busy(&held).await;
    owner.get("chat.send", said(KEY, "second", "b")).await;
    let stopped = owner.get("chat.abort", json!({"sessionKey": KEY, "runId": "b"})).await;
    assert_eq!(stopped, json!({"ok": true, "aborted": true, "runIds": ["b"]}));
    let waited = owner.get("agent.wait", json!({"runId": "b"})).await;
    assert_eq!(waited["status"], "ok", "it is over");
    held.add_permits(1);
    assert_eq!(ended(&mut owner, "a").await["state"], "final");
    let answered = stand.stage.said(KEY).await;
    assert!(answered.last().unwrap().ends_with("one and a half"), "{answered:?}");
    assert_eq!(stand.stage.model.asked().len(), 1);
}

#[tokio::test]
async fn what_is_told_at_the_end_is_what_the_message_says() {
    //  first words        the rest                 the last word
    let table = [
        ("NO", "_REPLY", Value::Null),
        ("NO", " way", json!("NO way")),
        ("[[", "reply_to_current]] Hi", json!("Hi")),
        ("[[reply_to_cur", "rent]] Hi", json!("Hi")),
        ("look\nMEDIA:", "./a.png", json!("look")),
        ("look\nMEDIA:./a", ".png", json!("look")),
        ("a[", "1]", json!("a[1]")),
    ];
    for (number, (first, second, expected)) in table.into_iter().enumerate() {
        let stand = Stand::new(json!({})).await;
        let mut owner = stand.owner().await;
        let held = gate();
        stand.stage.model.will([paused(first, &held, second)]);
        let run = format!("r{number}");
        owner.get("chat.send", said(KEY, "hello", &run)).await;
        eventually("the model is asked", || stand.stage.model.asked().len() == 1).await;
        tokio::time::sleep(Duration::from_millis(60)).await;
        held.add_permits(1);
        let frames = owner.until(|frame| frame["payload"]["state"] == "final").await;
        let last = &frames.last().unwrap()["payload"]["message"]["content"][0]["text"];
        assert_eq!(*last, expected, "{first}{second}");
        let told = frames.iter().filter(|frame| frame["payload"]["stream"] == "assistant");
        let told: Vec<&str> = told.filter_map(|frame| frame["payload"]["data"]["text"].as_str()).collect();
        let whole = expected.as_str().unwrap_or_default();
        assert!(told.iter().all(|text| whole.starts_with(text)), "{first}{second}: {told:?}");
    }
}

#[tokio::test]
async fn a_request_that_comes_again_leaves_its_run_alone() {
    let held = gate();
    let stand = Stand::new(json!({})).await;
    let (mut owner, mut other) = (stand.owner().await, stand.owner().await);
    stand.stage.model.will([paused("one", &held, " and a half")]);
    let asked = said(KEY, "first", "x");
    let first = owner.begin("agent", asked.clone()).await;
    assert_eq!(owner.answer(&first).await["payload"]["status"], "accepted");
    // By now nobody remembers what was answered; the engine knows the message.
    wait_six_minutes().await;
    let second = owner.begin("agent", asked.clone()).await;
    assert_eq!(owner.answer(&second).await["payload"]["status"], "accepted");
    assert_eq!(other.get("chat.send", asked.clone()).await["status"], "in_flight");
    let short = other.get("agent.wait", json!({"runId": "x", "timeoutMs": 20})).await;
    assert_eq!(short["status"], "timeout");
    let waiting = other.begin("agent.wait", json!({"runId": "x"})).await;
    held.add_permits(1);
    for request in [&first, &second] {
        assert_eq!(owner.answer(request).await["payload"]["status"], "ok");
    }
    assert_eq!(other.answer(&waiting).await["payload"]["status"], "ok");
    // Whoever asks once more is told that it is over, and how it ended is still known.
    wait_six_minutes().await;
    assert_eq!(owner.get("agent", asked).await["status"], "ok");
    assert_eq!(other.get("agent.wait", json!({"runId": "x", "timeoutMs": 20})).await["status"], "ok");
    assert_eq!(stand.stage.model.asked().len(), 1);
}

/// Longer than answers are remembered.
async fn wait_six_minutes() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(6 * 60)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn one_message_that_is_sent_twice_at_once_is_there_once() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    owner.get("sessions.patch", json!({"key": KEY, "verboseLevel": "off"})).await;
    let sent = json!({"to": KEY, "message": "hello", "channel": "webchat", "idempotencyKey": "s"});
    let requests = [owner.begin("send", sent.clone()).await, owner.begin("send", sent).await];
    let [first, second] = [owner.answer(&requests[0]).await, owner.answer(&requests[1]).await];
    assert_eq!(first["payload"]["messageId"], second["payload"]["messageId"]);
    assert_eq!(
        owner.get("chat.history", json!({"sessionKey": KEY})).await["messages"].as_array().unwrap().len(),
        1
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn messages_are_accepted_in_order_and_acknowledged_before_anything_is_told_of_them() {
    let config = json!({"messages": {"queue": {"mode": "followup", "debounceMs": 0, "cap": 100}}});
    let stand = Stand::new(config).await;
    let mut owner = stand.owner().await;
    let mut requests = Vec::new();
    for number in 0..20 {
        let words = format!("number {number:02}.");
        requests.push(owner.begin("chat.send", said(KEY, &words, &format!("run{number}"))).await);
    }
    let mut frames = Vec::new();
    for _ in 0..20 {
        frames.extend(owner.until(|frame| frame["payload"]["state"] == "final").await);
    }
    for (number, request) in requests.iter().enumerate() {
        let run = format!("run{number}");
        let at = |is_it: &dyn Fn(&Value) -> bool| frames.iter().position(is_it).unwrap();
        let answered = at(&|frame| frame["type"] == "res" && frame["id"] == *request);
        let told = at(&|frame| frame["type"] == "event" && frame["payload"]["runId"] == run);
        assert!(answered < told, "{run} is told of before it is acknowledged");
    }
    let asked: Vec<String> =
        stand.stage.said(KEY).await.into_iter().filter(|line| line.starts_with("user")).collect();
    for (number, line) in asked.iter().enumerate() {
        assert!(line.contains(&format!("number {number:02}.")), "{asked:?}");
    }
    assert_eq!(asked.len(), 20);
}

#[tokio::test]
async fn a_message_and_its_end_may_come_in_one_breath() {
    let held = gate();
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    stand.stage.model.will([paused("one", &held, " and a half")]);
    owner.begin("chat.send", said(KEY, "first", "a")).await;
    let stopping = owner.begin("chat.abort", json!({"sessionKey": KEY})).await;
    let stopped = owner.answer(&stopping).await;
    assert_eq!(stopped["payload"]["runIds"], json!(["a"]), "{stopped}");
    assert_eq!(ended(&mut owner, "a").await["state"], "aborted");
}

#[tokio::test]
async fn whoever_waits_for_much_is_heard_all_the_same() {
    let held = gate();
    let (_stand, mut owner) = busy(&held).await;
    let mut waiting = Vec::new();
    for _ in 0..1030 {
        waiting.push(owner.begin("agent.wait", json!({"runId": "a"})).await);
    }
    owner.get("health", json!({})).await;
    let refused = owner.answer(&waiting[1029]).await;
    assert_eq!(refused["error"]["code"], "UNAVAILABLE", "{refused}");
    held.add_permits(1);
    assert_eq!(owner.answer(&waiting[0]).await["payload"]["status"], "ok");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn runs_that_begin_end_and_are_asked_about_at_once_do_not_stop_each_other() {
    let stand = Arc::new(Stand::new(json!({})).await);
    let mut tasks = Vec::new();
    for client in 0..6 {
        let stand = stand.clone();
        tasks.push(tokio::spawn(async move {
            let mut owner = stand.owner().await;
            for number in 0..300 {
                let (key, run) = (format!("agent:main:s{}", number % 3), format!("{client}-{number}"));
                match client % 3 {
                    0 => drop(owner.get("chat.send", said(&key, "hello", &run)).await),
                    1 => drop(owner.get("chat.abort", json!({"sessionKey": key})).await),
                    _ => {
                        let run = format!("0-{number}");
                        drop(owner.get("agent.wait", json!({"runId": run, "timeoutMs": 3})).await);
                    }
                }
            }
        }));
    }
    for task in tasks {
        tokio::time::timeout(Duration::from_secs(60), task).await.expect("nobody waits for ever").unwrap();
    }
}

/// Both answers to `agent`.
async fn agent(client: &mut Client, params: Value) -> [Value; 2] {
    let id = client.begin("agent", params).await;
    [client.answer(&id).await, client.answer(&id).await]
}

#[tokio::test]
async fn an_agent_goes_on_in_the_session_that_is_named_whatever_its_age() {
    const THREE_DAYS: i64 = 3 * 24 * 60 * 60 * 1000;
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let made = owner.get("sessions.patch", json!({"key": KEY, "label": "kept"})).await;
    let id = &made["entry"]["sessionId"];
    let table = [json!({"sessionKey": KEY}), json!({"agentId": "main"}), json!({"sessionId": id})];
    for (number, mut params) in table.into_iter().enumerate() {
        stand.stage.clock.advance(THREE_DAYS);
        stand.stage.model.will([Line::say("yes")]);
        params["message"] = "still there?".into();
        params["idempotencyKey"] = format!("old-{number}").into();
        let [_, done] = agent(&mut owner, params.clone()).await;
        assert_eq!(done["payload"]["result"]["meta"]["agentMeta"]["sessionId"], *id, "{params}: {done}");
    }
}

#[tokio::test]
async fn an_id_that_no_session_has_begins_none_beside_the_one_that_is_named() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let made = owner.get("sessions.patch", json!({"key": "agent:main:main", "label": "kept"})).await;
    let id = &made["entry"]["sessionId"];
    let table = [
        (json!({"agentId": "main"}), vec!["agent:main:main"]),
        (json!({"to": "+15550001"}), vec!["agent:main:main"]),
        (json!({"agentId": "main", "to": "+15550001"}), vec!["agent:main:main"]),
        // Nothing else says where it goes.
        (json!({}), vec!["agent:main:5d1c7a10", "agent:main:main"]),
    ];
    for (number, (mut params, keys)) in table.into_iter().enumerate() {
        stand.stage.model.will([Line::say("yes")]);
        params["message"] = "hello".into();
        params["sessionId"] = "5d1c7a10".into();
        params["idempotencyKey"] = format!("unknown-{number}").into();
        let [_, done] = agent(&mut owner, params.clone()).await;
        let answered = &done["payload"]["result"]["meta"]["agentMeta"]["sessionId"];
        let expected = if keys.len() == 1 { id.clone() } else { "5d1c7a10".into() };
        assert_eq!(*answered, expected, "{params}: {done}");
        let list = owner.get("sessions.list", json!({})).await;
        let mut listed: Vec<&str> =
            list["sessions"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap()).collect();
        listed.sort_unstable();
        assert_eq!(listed, keys, "{params}");
    }
}

#[tokio::test]
async fn what_cannot_be_run_is_accepted_and_then_refused() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let table = [
        (json!({"message": " "}), "Error: Message (--message) is required"),
        (
            json!({"message": "x", "sessionKey": ""}),
            "Error: Pass --to <E.164>, --session-id, or --agent to choose a session",
        ),
        (
            json!({"message": "x", "thinking": "much"}),
            "Error: Invalid thinking level. Use one of: off, minimal, low, medium, high.",
        ),
        (json!({"message": "x", "timeout": 0}), "Error: --timeout must be a positive integer (seconds)"),
        (
            json!({"message": "x", "thinking": "xhigh"}),
            "Error: Thinking level \"xhigh\" is only supported for openai/gpt-5.2, openai-codex/gpt-5.2-codex or openai-codex/gpt-5.1-codex.",
        ),
    ];
    for (number, (mut params, why)) in table.into_iter().enumerate() {
        params["idempotencyKey"] = format!("not-{number}").into();
        if params.get("sessionKey").is_none() {
            params["sessionKey"] = KEY.into();
        }
        let [accepted, refused] = agent(&mut owner, params).await;
        assert_eq!(accepted["payload"]["status"], "accepted");
        assert_eq!(refused["error"], json!({"code": "UNAVAILABLE", "message": why}));
        assert_eq!(refused["payload"]["summary"], why);
    }
    assert_eq!(stand.stage.model.asked().len(), 0);
}

#[tokio::test]
async fn a_reply_that_no_channel_takes_is_not_called_delivered() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let side = "agent:main:side";
    let table = [
        (json!({"sessionKey": side}), Some("Error: Unknown channel: whatsapp")),
        (json!({"sessionKey": side, "channel": "imsg"}), Some("Error: Unknown channel: imessage")),
        (
            json!({"sessionKey": side, "channel": "telegram", "replyChannel": "slack"}),
            Some("Error: Unknown channel: slack"),
        ),
        (json!({"sessionKey": side, "channel": "webchat"}), None),
        // Nobody minds in the main session.
        (json!({"sessionKey": KEY, "channel": "telegram"}), None),
    ];
    for (number, (mut params, why)) in table.into_iter().enumerate() {
        stand.stage.model.will([Line::say("said")]);
        params["message"] = "hello".into();
        params["deliver"] = true.into();
        params["idempotencyKey"] = format!("to-{number}").into();
        let [_, done] = agent(&mut owner, params.clone()).await;
        assert_eq!(done["error"]["message"].as_str(), why, "{params}: {done}");
    }
}

#[tokio::test]
async fn what_was_asked_for_with_agent_is_stopped_and_knows_commands_as_well() {
    let held = gate();
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    stand.stage.model.will([paused("one", &held, " two")]);
    let id = owner.begin("agent", said(KEY, "go", "slow")).await;
    assert_eq!(owner.answer(&id).await["payload"]["status"], "accepted");
    eventually("the model is asked", || stand.stage.model.asked().len() == 1).await;
    let stopped = owner.get("chat.abort", json!({"sessionKey": KEY, "runId": "slow"})).await;
    assert_eq!(stopped, json!({"ok": true, "aborted": true, "runIds": ["slow"]}));
    held.add_permits(1);
    assert_eq!(owner.get("agent.wait", json!({"runId": "slow"})).await["status"], "ok");
    let [_, done] = agent(&mut owner, said(KEY, "/whoami", "command")).await;
    assert_eq!(done["payload"]["status"], "ok", "{done}");
    assert_eq!(stand.stage.model.asked().len(), 1);
}

#[tokio::test]
async fn whoever_asks_for_a_run_is_told_what_was_said_and_nothing_else() {
    let stand = Stand::new(json!({
        "agents": {"defaults": {"verboseDefault": "on"}},
        "messages": {"responsePrefix": "[x]"},
    }))
    .await;
    let mut owner = stand.owner().await;
    let patch = json!({"key": KEY, "reasoningLevel": "on", "responseUsage": "full"});
    owner.get("sessions.patch", patch).await;
    for (number, words) in ["HEARTBEAT_OK", "HEARTBEAT_OK all is well", "Hello."].into_iter().enumerate() {
        stand.stage.model.will([Line::say(words)]);
        let [_, ended] = agent(&mut owner, said(KEY, "  go\n", &format!("run-{number}"))).await;
        let payloads = &ended["payload"]["result"]["payloads"];
        assert_eq!(*payloads, json!([{"text": words, "mediaUrl": null}]));
        assert!(stand.stage.model.last_heard().pop().unwrap().ends_with("] go"));
    }
}

#[tokio::test]
async fn a_run_is_asked_for_in_a_place() {
    let stand = Stand::new(
        json!({"session": {"scope": "global"}, "agents": {"list": [{"id": "main"}, {"id": "ops"}]}}),
    )
    .await;
    let mut owner = stand.owner().await;
    let asked = json!({
        "sessionKey": "agent:main:there", "message": "hi", "idempotencyKey": "1", "channel": "telegram",
        "groupId": "7", "groupChannel": "#x", "groupSpace": "sp", "thinking": "off",
    });
    assert_eq!(agent(&mut owner, asked).await[1]["ok"], true);
    let list = owner.get("sessions.list", json!({})).await;
    let row = &list["sessions"][0];
    let told = ["key", "channel", "groupChannel", "space"].map(|name| row[name].as_str().unwrap_or_default());
    assert_eq!(told, ["agent:main:there", "telegram", "#x", "sp"], "{row}");
    // What is refused leaves nothing behind.
    for refused in [json!({"message": " "}), json!({"message": "hi", "timeout": 0})] {
        let mut asked = refused;
        asked["sessionKey"] = "agent:main:nowhere".into();
        asked["channel"] = "telegram".into();
        asked["idempotencyKey"] = asked.to_string().into();
        assert_eq!(agent(&mut owner, asked).await[1]["ok"], false);
    }
    assert_eq!(owner.get("sessions.list", json!({})).await["count"], 1);
    // An agent that is named has a session of its own, also where everybody shares one.
    let asked = json!({"agentId": "ops", "message": "hi", "idempotencyKey": "2"});
    assert_eq!(agent(&mut owner, asked).await[1]["ok"], true);
    let list = owner.get("sessions.list", json!({"agentId": "ops"})).await;
    assert_eq!(list["sessions"][0]["key"], "agent:ops:main");
    // Whom a message is for makes no chat with them.
    let asked = json!({"to": "+15550001", "message": "hi", "idempotencyKey": "3"});
    assert_eq!(agent(&mut owner, asked).await[1]["ok"], true);
    let list = owner.get("sessions.list", json!({"includeGlobal": true})).await;
    let global = list["sessions"].as_array().unwrap().iter().find(|row| row["key"] == "global").unwrap();
    assert_eq!((&global["lastTo"], &global["origin"]), (&Value::Null, &Value::Null), "{global}");
}

#[tokio::test]
async fn a_repeated_request_is_answered_when_the_first_is_on_record() {
    for (method, answers) in [("chat.send", ["started", "in_flight"]), ("agent", ["accepted", "accepted"])] {
        let stand = Stand::new(json!({})).await;
        let (mut owner, mut other) = (stand.owner().await, stand.owner().await);
        let held = gate();
        stand.stage.model.will([paused("one", &held, " and a half")]);
        let busy = stand.stage.journal.hold_up().await;
        let first = owner.begin(method, said(KEY, "first", "x")).await;
        let second = other.begin(method, said(KEY, "first", "x")).await;
        let early = tokio::time::timeout(Duration::from_millis(300), other.answer(&second)).await;
        assert!(early.is_err(), "{method}: a repeat was promised something: {early:?}");
        drop(busy);
        assert_eq!(owner.answer(&first).await["payload"]["status"], answers[0], "{method}");
        assert_eq!(other.answer(&second).await["payload"]["status"], answers[1], "{method}");
        held.add_permits(1);
        assert_eq!(ended(&mut owner, "x").await["state"], "final");
        assert_eq!(stand.stage.model.asked().len(), 1, "{method}");
    }
}

#[tokio::test]
async fn an_answer_that_was_complete_before_a_restart_is_told_as_a_replay() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let held = gate();
    stand.stage.model.will([paused("one", &held, " and a half")]);
    owner.get("chat.send", said(KEY, "first", "x")).await;
    eventually("the model is asked", || stand.stage.model.asked().len() == 1).await;
    // The gateway is killed before the end of the turn is in the journal.
    stand.stage.journal.fail_next();
    held.add_permits(1);
    let first = ended(&mut owner, "x").await;
    assert_eq!((&first["state"], &first["replay"]), (&json!("final"), &Value::Null));
    let busy = stand.stage.shelf.hold_up().await;
    let stand = stand.restarted().await;
    let mut owner = stand.owner().await;
    drop(busy);
    let again = ended(&mut owner, "x").await;
    assert_eq!((&again["state"], &again["replay"]), (&json!("final"), &json!(true)));
    assert_eq!(again["message"]["content"][0]["text"], "one and a half");
    assert_eq!(stand.stage.model.asked().len(), 1, "what was answered is not asked again");
}
