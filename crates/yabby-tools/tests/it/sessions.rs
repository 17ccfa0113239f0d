//! Other conversations, seen and spoken to by tools: who sees what.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use yabby_domain::id::AgentId;
use yabby_domain::message::Message;
use yabby_domain::seam::office::{Task, Told};
use yabby_domain::seam::tool::Company;
use yabby_domain::seam::{Begin, SessionStore as _, TranscriptStore};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::tree::NewEntry;
use yabby_testkit::clock::FixedClock;
use yabby_testkit::memory_store::{MemorySessions, MemoryTranscripts};
use yabby_tools::Conversations;

use crate::desk::Desk;

/// When it is, in these tests.
const NOW: i64 = 1_770_120_000_000;
const MINUTE: i64 = 60_000;

/// A desk that lends its conversations: the owner's, somebody else's, a group's, a few of programs, and those
/// of the agent `work`.
async fn talked() -> Desk {
    let desk = Desk::new();
    lend(&desk, "main", desk.sessions.clone(), Arc::new(desk.transcripts.clone()));
    desk.session("agent:main:main", "id-main", &["where is the key?", "With Ann."]).await;
    desk.session("agent:main:telegram:dm:7", "id-ben", &["the safe opens with 4711", "Noted."]).await;
    desk.session("agent:main:telegram:group:9", "id-club", &["[Club] Zoe: hello", "Hello, Zoe."]).await;
    desk.session("agent:main:cron:daily", "id-cron", &["good morning"]).await;
    desk.session("agent:main:hook:mail", "id-hook", &["mail came"]).await;
    desk.session("agent:main:subagent:s1", "id-task", &["count boats", "Seventeen."]).await;
    let minutes = [
        ("agent:main:main", 1),
        ("agent:main:telegram:dm:7", 2),
        ("agent:main:telegram:group:9", 3),
        ("agent:main:cron:daily", 4),
        ("agent:main:hook:mail", 5),
        ("agent:main:subagent:s1", 6),
    ];
    for (key, ago) in minutes {
        update(&desk.sessions, key, json!({"updatedAt": NOW - ago * MINUTE})).await;
    }
    update(
        &desk.sessions,
        "agent:main:telegram:group:9",
        json!({
            "label": "club", "displayName": "The club", "model": "small", "totalTokens": 12, "systemSent": true,
            "sendPolicy": "deny", "channel": "telegram", "lastChannel": "telegram", "lastTo": "-9",
            "lastAccountId": "bot",
        }),
    )
    .await;
    update(&desk.sessions, "agent:main:subagent:s1", json!({"spawnedBy": "agent:main:telegram:group:9"}))
        .await;
    let (sessions, transcripts) =
        (MemorySessions::default(), MemoryTranscripts::new(Arc::new(FixedClock::at(NOW))));
    lend(&desk, "work", sessions.clone(), Arc::new(transcripts));
    update(
        &sessions,
        "agent:work:main",
        json!({"sessionId": "id-work", "updatedAt": NOW, "label": "office"}),
    )
    .await;
    desk
}

fn lend(desk: &Desk, agent: &str, sessions: MemorySessions, transcripts: Arc<dyn TranscriptStore>) {
    let conversations = Conversations { sessions: Arc::new(sessions), transcripts };
    desk.office.lend(AgentId::normalize(agent), conversations);
}

async fn update(sessions: &MemorySessions, key: &str, fields: Value) {
    let change = Box::new(move |entry: &mut Option<SessionEntry>| {
        let mut record = entry.take().map(|entry| entry.as_object().clone()).unwrap_or_default();
        record.extend(fields.as_object().unwrap().clone());
        *entry = Some(SessionEntry::new(record));
    });
    sessions.update(&SessionKey::new(key), change).await.unwrap();
}

/// Speaks from the group, in which others listen.
fn in_the_group(desk: &mut Desk) {
    desk.context.company = Company::Others;
    desk.context.sender_is_owner = false;
    desk.context.session_key = SessionKey::new("agent:main:telegram:group:9");
    desk.context.session_id = "id-club".to_owned();
}

async fn listed(desk: &Desk, arguments: Value) -> Vec<Value> {
    let details = desk.call("sessions_list", arguments).await.details.unwrap();
    let rows = details["sessions"].as_array().unwrap().clone();
    assert_eq!(details["count"], rows.len());
    rows
}

async fn keys(desk: &Desk, arguments: Value) -> Vec<String> {
    let rows = listed(desk, arguments).await;
    rows.iter().map(|row| row["key"].as_str().unwrap().to_owned()).collect()
}

async fn history(desk: &Desk, arguments: Value) -> Vec<Value> {
    let output = desk.call("sessions_history", arguments).await;
    assert!(!output.is_error, "{output:?}");
    output.details.unwrap()["messages"].as_array().unwrap().clone()
}

/// The status and the words of a refusal.
async fn refusal(desk: &Desk, tool: &str, arguments: Value) -> (String, String) {
    let output = desk.call(tool, arguments).await;
    assert!(output.is_error, "{output:?}");
    let details = output.details.unwrap();
    let text = |name: &str| details[name].as_str().unwrap().to_owned();
    (text("status"), text("error"))
}

#[tokio::test]
async fn sessions_are_listed_the_latest_first() {
    let desk = talked().await;
    let all = [
        "main",
        "agent:main:telegram:dm:7",
        "agent:main:telegram:group:9",
        "agent:main:cron:daily",
        "agent:main:hook:mail",
        "agent:main:subagent:s1",
    ];
    let table = [
        (json!({}), &all[..]),
        (json!({"limit": 2}), &all[..2]),
        (json!({"limit": 0}), &all[..1]),
        (json!({"limit": "3"}), &all[..3]),
        (json!({"activeMinutes": 3}), &all[..3]),
        (json!({"kinds": ["main"]}), &all[..1]),
        (json!({"kinds": ["group"]}), &all[2..3]),
        (json!({"kinds": ["Cron", "hook"]}), &all[3..5]),
        (json!({"kinds": ["other"], "limit": 1}), &all[1..2]),
        (json!({"kinds": ["other"], "activeMinutes": 1}), &[]),
        // What nobody knows is no filter.
        (json!({"kinds": ["colour"]}), &all[..]),
    ];
    for (arguments, expected) in table {
        assert_eq!(keys(&desk, arguments.clone()).await, expected, "{arguments}");
    }
}

#[tokio::test]
async fn a_row_tells_what_is_known_of_a_session() {
    let desk = talked().await;
    let rows = listed(&desk, json!({"kinds": ["group", "cron"], "messageLimit": 1})).await;
    let said =
        json!([{"role": "assistant", "content": [{"type": "text", "text": "Hello, Zoe."}], "timestamp": 7}]);
    let group = json!({
        "key": "agent:main:telegram:group:9", "kind": "group", "channel": "telegram", "label": "club",
        "displayName": "The club", "updatedAt": NOW - 3 * MINUTE, "sessionId": "id-club", "model": "small",
        "totalTokens": 12, "systemSent": true, "sendPolicy": "deny", "lastChannel": "telegram", "lastTo": "-9",
        "lastAccountId": "bot", "messages": said,
        "deliveryContext": {"channel": "telegram", "to": "-9", "accountId": "bot"},
    });
    assert_eq!(rows[0], group);
    assert_eq!((&rows[1]["kind"], &rows[1]["channel"]), (&json!("cron"), &json!("internal")));
}

#[tokio::test]
async fn at_most_twenty_last_messages_come_with_a_row() {
    let desk = talked().await;
    let words: Vec<String> = (0..40).map(|number| format!("word {number}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    desk.transcript("id-cron", &words).await;
    let count = async |arguments: Value| {
        let rows = listed(&desk, arguments).await;
        rows[0]["messages"].as_array().map(Vec::len)
    };
    let table = [(json!(0), None), (json!(3), Some(3)), (json!(500), Some(20))];
    for (limit, expected) in table {
        assert_eq!(count(json!({"kinds": ["cron"], "messageLimit": limit})).await, expected, "{limit}");
    }
}

#[tokio::test]
async fn a_session_is_read_by_its_key_or_its_id() {
    let desk = talked().await;
    for named in ["agent:main:telegram:dm:7", "telegram:dm:7", "agent:main:Telegram:dm:7", "id-ben"] {
        let said = history(&desk, json!({"sessionKey": named})).await;
        assert_eq!(said.len(), 2, "{named}");
        assert_eq!(said[0]["content"][0]["text"], "the safe opens with 4711");
    }
    for named in ["main", "MAIN", "agent:main:main", "id-main"] {
        let output = desk.call("sessions_history", json!({"sessionKey": named, "limit": 1})).await;
        let details = output.details.unwrap();
        assert_eq!(details["sessionKey"], "main", "{named}");
        assert_eq!(details["messages"][0]["content"][0]["text"], "With Ann.");
        assert_eq!(details["messages"].as_array().unwrap().len(), 1);
    }
    let (status, why) = refusal(&desk, "sessions_history", json!({"sessionKey": "nobody"})).await;
    assert_eq!(status, "error");
    assert_eq!(why, "No session found: nobody (use the key from sessions_list)");
    assert_eq!(desk.refused("sessions_history", json!({})).await, "sessionKey required");
}

/// Adds messages to the session `id-cron` as they are.
async fn add(desk: &Desk, messages: &[Value]) {
    let id = TranscriptId::new("id-cron", None).unwrap();
    let begin = Begin { session_id: "id-cron".to_owned(), cwd: String::new(), parent: None };
    let mut writer = desk.transcripts.open(&id, begin).await.unwrap();
    let entry = |message: &Value| NewEntry::Message(Message::from_value(message.clone()).unwrap());
    writer.append(messages.iter().map(entry).collect()).await.unwrap();
}

#[tokio::test]
async fn tools_and_their_results_are_told_only_if_they_are_wanted() {
    let desk = talked().await;
    let call = json!({"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "x"}});
    add(
        &desk,
        &[
            json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, call], "timestamp": 8,
                   "usage": {"input": 1}, "stopReason": "toolUse", "api": "x", "provider": "p", "model": "m"}),
            json!({"role": "toolResult", "toolCallId": "c1", "toolName": "read", "timestamp": 9, "isError": false,
                   "content": [{"type": "text", "text": "in the file"}, {"type": "image", "data": "AAAA"}]}),
            json!({"role": "assistant", "content": [{"type": "text", "text": "read"}], "timestamp": 10}),
        ],
    )
    .await;
    let roles = |said: &[Value]| {
        said.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let without = history(&desk, json!({"sessionKey": "agent:main:cron:daily"})).await;
    assert_eq!(roles(&without), ["user", "assistant"], "what only called a tool is left out");
    let with = history(&desk, json!({"sessionKey": "agent:main:cron:daily", "includeTools": true})).await;
    assert_eq!(roles(&with), ["user", "assistant", "toolResult", "assistant"]);
    assert_eq!(with[1]["content"].as_array().unwrap(), &[call]);
    assert!(with[1].get("usage").is_none() && with[1].get("stopReason").is_none());
    assert_eq!(with[2]["content"].as_array().unwrap().len(), 1, "no image");
}

#[tokio::test]
async fn long_texts_are_cut_and_old_ones_left_out() {
    let desk = talked().await;
    let long = "é".repeat(5000);
    let text =
        |at: u64| json!({"role": "user", "content": [{"type": "text", "text": long}], "timestamp": at});
    add(&desk, &(10..40).map(text).collect::<Vec<_>>()).await;
    let said = history(&desk, json!({"sessionKey": "agent:main:cron:daily"})).await;
    let told = said.last().unwrap()["content"][0]["text"].as_str().unwrap();
    assert!(told.ends_with("é…(cut)") && told.chars().count() == 4006, "{}", told.chars().count());
    assert!(said.len() < 12 && serde_json::to_string(&said).unwrap().len() < 82 * 1024, "{}", said.len());
    // What a tool was told is no way around it, nor is a single message.
    let parts: Vec<Value> = (0..60)
        .map(|part| json!({"type": "toolCall", "id": format!("{part}"), "name": "write", "arguments": {"content": long}}))
        .collect();
    add(&desk, &[json!({"role": "assistant", "content": parts, "timestamp": 50})]).await;
    let said = history(&desk, json!({"sessionKey": "id-cron", "limit": 1, "includeTools": true})).await;
    assert_eq!(said[0]["content"], "(too long to be shown)");
}

#[tokio::test]
async fn nobody_reads_more_than_two_hundred_messages() {
    let desk = talked().await;
    let words: Vec<String> = (0..300).map(|number| format!("{number}")).collect();
    desk.transcript("id-hook", &words.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let table = [(json!({}), 50), (json!({"limit": 7}), 7), (json!({"limit": 9999}), 200)];
    for (more, expected) in table {
        let mut arguments = json!({"sessionKey": "agent:main:hook:mail"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(history(&desk, arguments).await.len(), expected, "{more}");
    }
}

#[tokio::test]
async fn something_is_said_in_a_session_by_key_or_label() {
    let desk = talked().await;
    let sent = async |arguments: Value| desk.call("sessions_send", arguments).await.details.unwrap();
    let answer = sent(json!({"sessionKey": "agent:main:telegram:dm:7", "message": "hi"})).await;
    let expected = json!({
        "runId": "run-1", "status": "ok", "reply": "heard: hi", "sessionKey": "agent:main:telegram:dm:7",
    });
    assert_eq!(answer, expected);
    sent(json!({"label": "club", "message": "hi", "timeoutSeconds": 0})).await;
    sent(json!({"sessionKey": "main", "message": "hi", "timeoutSeconds": 99_999})).await;
    let told: Vec<(String, u64)> =
        desk.office.told().iter().map(|(key, _, wait)| (key.as_str().to_owned(), wait.as_secs())).collect();
    let expected = [
        ("agent:main:telegram:dm:7".to_owned(), 30),
        ("agent:main:telegram:group:9".to_owned(), 0),
        ("agent:main:main".to_owned(), 600),
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_session_that_is_not_clearly_named_is_not_spoken_to() {
    let desk = talked().await;
    let table = [
        (json!({"message": "hi"}), "Either sessionKey or label is required"),
        (
            json!({"message": "hi", "sessionKey": "main", "label": "club"}),
            "Provide either sessionKey or label (not both).",
        ),
        (json!({"message": "hi", "label": "nothing"}), "No session found with label: nothing"),
        (
            json!({"message": "hi", "sessionKey": "nobody"}),
            "No session found: nobody (use the key from sessions_list)",
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(
            refusal(&desk, "sessions_send", arguments).await,
            ("error".to_owned(), expected.to_owned())
        );
    }
    assert_eq!(desk.refused("sessions_send", json!({"sessionKey": "main"})).await, "message required");
    update(&desk.sessions, "agent:main:cron:daily", json!({"label": "club"})).await;
    let (_, why) = refusal(&desk, "sessions_send", json!({"message": "hi", "label": "club"})).await;
    assert_eq!(why, "2 sessions have the label club; use the key of one.");
    assert_eq!(desk.office.told(), []);
}

#[tokio::test]
async fn what_became_of_words_to_another_session_is_told() {
    let desk = talked().await;
    let run = || "run-2".to_owned();
    let late = "No answer within 5 seconds; it goes on, and sessions_history will show it.";
    let table = [
        (Ok(Told::Accepted { run: run() }), json!({"status": "accepted", "runId": "run-2"}), false),
        (
            Ok(Told::TimedOut { run: run() }),
            json!({"status": "timeout", "runId": "run-2", "error": late}),
            false,
        ),
        (
            Ok(Told::Failed { run: run(), error: "no model".to_owned() }),
            json!({"status": "error", "runId": "run-2", "error": "no model"}),
            true,
        ),
        (
            Err("that is this very conversation".to_owned()),
            json!({"status": "error", "error": "that is this very conversation"}),
            true,
        ),
    ];
    for (told, mut expected, is_error) in table {
        desk.office.tell_says(told);
        let output = desk
            .call("sessions_send", json!({"sessionKey": "id-ben", "message": "hi", "timeoutSeconds": 5}))
            .await;
        expected["sessionKey"] = "agent:main:telegram:dm:7".into();
        assert_eq!((output.details.unwrap(), output.is_error), (expected, is_error));
    }
}

#[tokio::test]
async fn a_task_is_handed_on_as_it_was_given() {
    let desk = talked().await;
    let spawned = desk
        .call(
            "sessions_spawn",
            json!({
                "task": " count the boats ", "label": "boats", "agentId": "Work", "model": "acme/big",
                "thinking": "high", "runTimeoutSeconds": 90, "cleanup": "delete",
            }),
        )
        .await;
    let answer = json!({
        "status": "accepted", "childSessionKey": "agent:main:subagent:1", "runId": "run-1", "modelApplied": true,
    });
    assert_eq!(spawned.details.unwrap(), answer);
    desk.call("sessions_spawn", json!({"task": "look", "timeoutSeconds": 5, "cleanup": "keep"})).await;
    desk.call("sessions_spawn", json!({"task": "look", "runTimeoutSeconds": 0})).await;
    let whole = Task {
        words: "count the boats".to_owned(),
        label: Some("boats".to_owned()),
        agent: Some(AgentId::normalize("work")),
        model: Some("acme/big".to_owned()),
        thinking: Some("high".to_owned()),
        time_limit: Some(Duration::from_secs(90)),
        delete_after: true,
    };
    let short = Task { words: "look".to_owned(), ..Task::default() };
    let timed = Task { time_limit: Some(Duration::from_secs(5)), ..short.clone() };
    assert_eq!(desk.office.tasks(), [whole, timed, short]);
    assert_eq!(desk.refused("sessions_spawn", json!({"task": " "})).await, "task required");
}

#[tokio::test]
async fn what_cannot_be_done_for_a_task_is_said() {
    let desk = talked().await;
    desk.office.spawn_says(Ok(Some("model zz is not known".to_owned())));
    let spawned = desk.call("sessions_spawn", json!({"task": "x", "model": "zz"})).await;
    let answer = spawned.details.unwrap();
    assert_eq!(
        (&answer["modelApplied"], &answer["warning"]),
        (&json!(false), &json!("model zz is not known"))
    );
    desk.office.spawn_says(Err("agentId is not allowed for sessions_spawn (allowed: none)".to_owned()));
    let (status, why) = refusal(&desk, "sessions_spawn", json!({"task": "x", "agentId": "work"})).await;
    assert_eq!((status.as_str(), why.contains("not allowed")), ("forbidden", true));
    desk.office.spawn_says(Err("the program is being stopped".to_owned()));
    assert_eq!(refusal(&desk, "sessions_spawn", json!({"task": "x"})).await.0, "error");
}

#[tokio::test]
async fn among_others_nothing_is_seen_but_this_conversation_and_what_works_for_it() {
    let mut desk = talked().await;
    in_the_group(&mut desk);
    assert_eq!(keys(&desk, json!({})).await, ["agent:main:telegram:group:9", "agent:main:subagent:s1"]);
    for named in ["agent:main:telegram:group:9", "id-club", "agent:main:subagent:s1", "id-task"] {
        assert_eq!(history(&desk, json!({"sessionKey": named})).await.len(), 2, "{named}");
    }
    // What is there and what is not there look alike, by key, by id and by label.
    let pairs = [
        ("agent:main:main", "agent:main:telegram:dm:555"),
        ("agent:main:telegram:dm:7", "agent:main:cron:other"),
        ("id-main", "id-nobody"),
        ("id-ben", "00000000-0000-4000-8000-000000000000"),
        ("main", "telegram:dm:555"),
    ];
    for tool in ["sessions_history", "sessions_send"] {
        for (there, not_there) in pairs {
            let told = async |named: &str| {
                let (status, why) = refusal(&desk, tool, json!({"sessionKey": named, "message": "hi"})).await;
                (status, why.replace(named, "…"))
            };
            let hidden = ("forbidden".to_owned(), "Session not visible from this conversation: …".to_owned());
            assert_eq!(told(there).await, hidden, "{tool} {there}");
            assert_eq!(told(not_there).await, hidden, "{tool} {not_there}");
        }
    }
    update(&desk.sessions, "agent:main:telegram:dm:7", json!({"label": "secret"})).await;
    for label in ["secret", "nothing"] {
        let (status, why) = refusal(&desk, "sessions_send", json!({"label": label, "message": "hi"})).await;
        assert_eq!((status, why), ("error".to_owned(), format!("No session found with label: {label}")));
    }
    assert_eq!(desk.office.told(), []);
    desk.call("sessions_send", json!({"sessionKey": "id-task", "message": "more"})).await;
    assert_eq!(desk.office.told()[0].0.as_str(), "agent:main:subagent:s1");
}

#[tokio::test]
async fn the_owner_in_a_group_sees_no_more_than_the_group_may() {
    let mut desk = talked().await;
    in_the_group(&mut desk);
    desk.context.sender_is_owner = true;
    assert_eq!(keys(&desk, json!({})).await.len(), 2);
    assert_eq!(refusal(&desk, "sessions_history", json!({"sessionKey": "id-ben"})).await.0, "forbidden");
}

#[tokio::test]
async fn agents_see_each_other_only_if_the_configuration_says_so() {
    let listed = json!([{"id": "main"}, {"id": "work"}, {"id": "other"}]);
    let pattern = |allow: Value| json!({"enabled": true, "allow": allow});
    //  tools.agentToAgent, seen
    let table = [
        (json!({}), false),
        (json!({"enabled": false, "allow": ["*"]}), false),
        (json!({"enabled": true}), true),
        (pattern(json!(["main", "work"])), true),
        (pattern(json!(["*"])), true),
        (pattern(json!(["MAIN", "w*"])), true),
        (pattern(json!(["work"])), false),
        (pattern(json!(["main"])), false),
    ];
    for (setting, seen) in table {
        let mut desk = talked().await;
        desk.configure(json!({"agents": {"list": listed}, "tools": {"agentToAgent": setting}}));
        let found = keys(&desk, json!({})).await;
        assert_eq!(found.contains(&"agent:work:main".to_owned()), seen, "{setting} {found:?}");
        for tool in ["sessions_history", "sessions_send"] {
            let output = desk.call(tool, json!({"sessionKey": "agent:work:main", "message": "hi"})).await;
            assert_eq!(output.is_error, !seen, "{setting} {tool} {output:?}");
            let there = desk.call(tool, json!({"sessionKey": "agent:work:nobody", "message": "hi"})).await;
            let status = there.details.unwrap()["status"].clone();
            assert_eq!(status, if seen { "error" } else { "forbidden" }, "{setting} {tool}");
        }
        let labelled = desk.call("sessions_send", json!({"label": "office", "message": "hi"})).await;
        assert_eq!(labelled.is_error, !seen, "{setting}");
        let named = json!({"label": "office", "agentId": "work", "message": "hi"});
        assert_eq!(desk.call("sessions_send", named).await.is_error, !seen, "{setting}");
        // An id opens no other door.
        let by_id = desk.call("sessions_history", json!({"sessionKey": "id-work"})).await;
        assert_eq!(by_id.is_error, !seen, "{setting}");
    }
}

#[tokio::test]
async fn among_others_agents_that_may_talk_do_not_see_each_other() {
    let mut desk = talked().await;
    desk.configure(json!({
        "agents": {"list": [{"id": "main"}, {"id": "work"}]}, "tools": {"agentToAgent": {"enabled": true}},
    }));
    in_the_group(&mut desk);
    assert_eq!(keys(&desk, json!({})).await.len(), 2);
    for named in ["agent:work:main", "agent:work:nobody", "id-work"] {
        let (status, why) = refusal(&desk, "sessions_history", json!({"sessionKey": named})).await;
        assert_eq!((status.as_str(), why.starts_with("Session not visible")), ("forbidden", true), "{why}");
    }
}

#[tokio::test]
async fn behind_walls_an_agent_sees_what_it_started() {
    for (visibility, sees_all) in [(json!(null), false), (json!("spawned"), false), (json!("all"), true)] {
        let mut desk = talked().await;
        desk.context.is_confined = true;
        desk.configure(json!({"agents": {"defaults": {"sandbox": {"sessionToolsVisibility": visibility}}}}));
        update(&desk.sessions, "agent:main:subagent:s1", json!({"spawnedBy": "agent:main:main"})).await;
        let found = keys(&desk, json!({})).await;
        let expected = if sees_all { 6 } else { 2 };
        assert_eq!(found.len(), expected, "{visibility} {found:?}");
        let read = desk.call("sessions_history", json!({"sessionKey": "agent:main:telegram:dm:7"})).await;
        assert_eq!(read.is_error, !sees_all, "{visibility}");
        assert_eq!(history(&desk, json!({"sessionKey": "id-task"})).await.len(), 2);
        // Others hear no more because of it.
        in_the_group(&mut desk);
        assert_eq!(keys(&desk, json!({})).await, ["agent:main:telegram:group:9"], "{visibility}");
    }
}
