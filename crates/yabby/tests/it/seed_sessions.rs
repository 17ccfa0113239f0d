//! What OpenClaudeCode asks of its `SessionManager` (seed 003), of sessions here.

use std::fs;
use std::process::{Child, Stdio};

use rusqlite::Connection;
use serde_json::{Value, json};
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::key::SessionKey;
use yabby_testkit::scripted_model::ScriptedModel;
use yabby_testkit::stage::{say, texts};

use crate::home::Home;
use crate::on_disk::{OnDisk, PERSON, PERSONS, from};

const MINUTE: i64 = 60_000;

/// `sessionMaxAgeMs: 14400000`, as an import writes it.
fn four_hours() -> Value {
    json!({"session": {"reset": {"mode": "idle", "idleMinutes": 240}}})
}

fn contents(history: &Value) -> Vec<String> {
    let words = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    history["messages"].as_array().unwrap().iter().map(words).collect()
}

#[tokio::test]
async fn get_or_create_creates_new_session_for_unknown_user() {
    let desk = OnDisk::new(&json!({}));
    let report = say(&desk.engine, from(PERSON, "hello")).await;
    let id = desk.session_id(PERSONS).await;
    assert_eq!(report.session_id.as_deref(), Some(id.as_str()));
    assert!(desk.home.transcript(&id).is_file());
    assert!(desk.record(PERSONS).await["updatedAt"].is_number());
    // Somebody else is somebody else.
    say(&desk.engine, from("42", "hello")).await;
    assert_ne!(desk.session_id("agent:main:telegram:dm:42").await, id);
    assert_eq!(desk.home.json(&["sessions"])["count"], 2);
}

#[tokio::test]
async fn get_or_create_returns_existing_session_for_known_user() {
    let desk = OnDisk::new(&json!({}));
    say(&desk.engine, from(PERSON, "hello")).await;
    let (id, first) = (desk.session_id(PERSONS).await, desk.record(PERSONS).await["updatedAt"].clone());
    desk.clock.advance(MINUTE);
    say(&desk.engine, from(PERSON, "again")).await;
    assert_eq!(desk.session_id(PERSONS).await, id);
    assert!(desk.record(PERSONS).await["updatedAt"].as_f64() > first.as_f64());
    assert_eq!(desk.model.last_heard().len(), 3, "what was said before is told");
}

#[tokio::test]
async fn get_or_create_creates_new_session_when_old_one_is_stale() {
    //  after            a new one
    let table = [(239 * MINUTE, false), (240 * MINUTE, false), (241 * MINUTE, true)];
    for (after, is_new) in table {
        let desk = OnDisk::new(&four_hours());
        say(&desk.engine, from(PERSON, "hello")).await;
        let old = desk.session_id(PERSONS).await;
        desk.clock.advance(after);
        say(&desk.engine, from(PERSON, "still there?")).await;
        assert_eq!(desk.session_id(PERSONS).await != old, is_new, "{after}");
        assert!(desk.home.transcript(&old).is_file(), "what was said stays");
    }
}

#[tokio::test]
async fn append_message_writes_to_jsonl_transcript() {
    let desk = OnDisk::new(&json!({}));
    say(&desk.engine, from(PERSON, "hello")).await;
    let id = desk.session_id(PERSONS).await;
    let lines = desk.lines(&id);
    assert_eq!((&lines[0]["type"], &lines[0]["id"]), (&json!("session"), &json!(id)));
    let said: Vec<&Value> = lines.iter().filter(|line| line["type"] == "message").collect();
    let roles: Vec<&str> = said.iter().filter_map(|line| line["message"]["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant"]);
    assert_eq!(said[0]["message"]["content"][0]["text"], "hello");
    assert!(said.iter().all(|line| line["timestamp"].is_string() && line["id"].is_string()));
    // One message more is one line more, and no other line changes.
    let before = fs::read_to_string(desk.home.transcript(&id)).unwrap();
    say(&desk.engine, from(PERSON, "more")).await;
    assert!(fs::read_to_string(desk.home.transcript(&id)).unwrap().starts_with(&before));
}

#[tokio::test]
async fn load_transcript_reads_back_messages_in_order() {
    let desk = OnDisk::new(&json!({}));
    for words in ["one", "two", "three"] {
        say(&desk.engine, from(PERSON, words)).await;
    }
    let history = desk.home.json(&["history", PERSONS]);
    assert_eq!(contents(&history), ["one", "echo: one", "two", "echo: two", "three", "echo: three"]);
}

#[tokio::test]
async fn load_transcript_respects_limit_parameter() {
    // `maxHistoryMessages`, as an import writes it: the turns of a chat that the model is told.
    let desk = OnDisk::new(&json!({"channels": {"telegram": {"dmHistoryLimit": 2}}}));
    for number in 0..5 {
        say(&desk.engine, from(PERSON, &format!("message {number}"))).await;
    }
    let history = desk.home.json(&["history", PERSONS, "--limit", "3"]);
    assert_eq!(contents(&history), ["echo: message 3", "message 4", "echo: message 4"]);
    assert_eq!(history["total"], 10);
    say(&desk.engine, from(PERSON, "now")).await;
    let heard = desk.model.last_heard();
    assert!(heard.last().unwrap().ends_with("now") && heard.len() <= 5, "{heard:?}");
    assert!(!heard.iter().any(|line| line.contains("message 2")), "{heard:?}");
}

/// As in OpenClaw, a session that begins anew has not been compacted yet: its count begins at zero, and that
/// of the conversation before it stays with that conversation, in whose transcript the compactions stand.
#[tokio::test]
async fn reset_session_creates_new_session_preserves_history() {
    let desk = OnDisk::new(&json!({}));
    say(&desk.engine, from(PERSON, "hello")).await;
    let old = desk.session_id(PERSONS).await;
    let said = fs::read(desk.home.transcript(&old)).unwrap();
    let compacted = Box::new(|entry: &mut Option<SessionEntry>| {
        let mut patch = Patch::default();
        patch.set_compaction_count(Some(3.0));
        entry.as_mut().unwrap().apply(&patch);
    });
    desk.sessions.update(&SessionKey::new(PERSONS), compacted).await.unwrap();
    let report = say(&desk.engine, from(PERSON, "/new what is new?")).await;
    assert!(texts(&report)[0].contains("New session started"), "{report:?}");
    let new = desk.session_id(PERSONS).await;
    assert_ne!(new, old);
    assert_eq!(desk.record(PERSONS).await["compactionCount"].as_f64(), Some(0.0));
    assert_eq!(fs::read(desk.home.transcript(&old)).unwrap(), said, "byte for byte");
    // From the command line, too.
    desk.home.out(&["sessions", "reset", PERSONS]);
    assert_ne!(desk.session_id(PERSONS).await, new);
    assert!(desk.home.transcript(&new).is_file() && desk.home.transcript(&old).is_file());
    assert!(desk.home.out(&["history", desk.home.transcript(&old).to_str().unwrap()]).contains("hello"));
}

/// What is compacted is gone from what the model is told; the file keeps it.
#[tokio::test]
async fn compact_session_writes_compaction_event_removes_old_messages() {
    let desk = OnDisk::at(Home::empty(), &json!({}), ScriptedModel::new(8000));
    for number in 0..6 {
        let words = format!("message {number} {}", "word ".repeat(400));
        say(&desk.engine, from(PERSON, &words)).await;
    }
    let id = desk.session_id(PERSONS).await;
    let lines = desk.lines(&id);
    let compactions: Vec<&Value> = lines.iter().filter(|line| line["type"] == "compaction").collect();
    assert!(compactions[0]["summary"].as_str().unwrap().contains("a summary"), "{}", compactions[0]);
    assert!(compactions[0]["firstKeptEntryId"].is_string() && compactions[0]["tokensBefore"].is_number());
    let count = desk.record(PERSONS).await["compactionCount"].as_f64().unwrap();
    assert!((count - compactions.len() as f64).abs() < f64::EPSILON, "{count}");
    let heard = desk.model.last_heard();
    assert!(heard[0].contains("compacted into the following summary"), "{heard:?}");
    assert!(!heard.iter().any(|line| line.contains("message 0 ")), "{heard:?}");
    let file = fs::read_to_string(desk.home.transcript(&id)).unwrap();
    assert!(file.contains("message 0 "), "the file keeps everything");
}

/// `telegram:5054873275` is `agent:main:telegram:dm:5054873275` here.
#[tokio::test]
async fn session_key_format_channel_user_id() {
    let home = Home::empty();
    let said = |role: &str, text: &str| json!({"type": "message", "timestamp": "2026-01-31T14:00:01.000Z", "message": {"role": role, "content": text}});
    let lines = [said("user", "The spare key is with Ann."), said("assistant", "Noted.")];
    home.write(".occ/sessions/a.jsonl", &format!("{}\n{}\n", lines[0], lines[1]));
    let database = Connection::open(home.path().join(".occ/gateway.db")).unwrap();
    let rows = format!(
        "CREATE TABLE sessions (sessionId TEXT PRIMARY KEY, sessionKey TEXT, createdAt INTEGER,
             updatedAt INTEGER, messageCount INTEGER, compactionCount INTEGER, transcriptPath TEXT);
         INSERT INTO sessions VALUES ('a', 'telegram:{PERSON}', 1, {}, 2, 3, '/gone/a.jsonl');",
        jiff::Timestamp::now().as_millisecond()
    );
    database.execute_batch(&rows).unwrap();
    let told = home.json(&["import", "openclaudecode", ".occ"]);
    let session = &told["sessions"][0];
    assert_eq!((&session["from"], &session["key"]), (&json!(format!("telegram:{PERSON}")), &json!(PERSONS)));
    assert_eq!(home.records()[PERSONS]["compactionCount"], 3, "counts come along");
    assert_eq!(home.json(&["config", "get", "session.dmScope"]), "per-channel-peer");
    // The next message of that person goes on where it was.
    let desk = OnDisk::at(home, &json!({}), ScriptedModel::new(100_000));
    say(&desk.engine, from(PERSON, "where is the key?")).await;
    assert_eq!(desk.session_id(PERSONS).await, "a");
    let heard = desk.model.last_heard();
    assert_eq!(heard[0], "user: The spare key is with Ann.", "{heard:?}");
}

/// Several processes write sessions, transcripts and the index at once, while others read them.
#[test]
fn concurrent_access_safety_wal_mode() {
    let home = Home::empty();
    home.out(&["agent", "--local", "--agent", "main", "-m", "hello"]);
    let start = |session: String, words: String| {
        let mut command = home.command(&["agent", "--local", "--session-id", &session, "-m", &words]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<Child> = (0..3)
        .flat_map(|session| (0..2).map(move |word| (session, word)))
        .map(|(session, word)| start(format!("s{session}"), format!("remember that w{session}{word} is up")))
        .collect();
    for child in children {
        assert!(home.json(&["sessions"])["count"].as_u64() >= Some(1));
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for session in 0..3 {
        let history = home.out(&["history", &format!("s{session}")]);
        for word in 0..2 {
            assert!(history.contains(&format!("w{session}{word} is up")), "{history}");
        }
    }
    let index = home.path().join(".openclaw/recall/main.sqlite");
    let index = Connection::open(index).unwrap();
    let pragma = |name: &str| index.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, String>(0));
    assert_eq!(pragma("journal_mode").unwrap(), "wal");
    assert_eq!(pragma("integrity_check").unwrap(), "ok");
    assert_eq!(home.complaints_of_the_doctor(), [""; 0]);
}
