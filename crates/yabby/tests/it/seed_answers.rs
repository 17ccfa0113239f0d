//! What OpenClaudeCode asks of its `AutoResponder` (seed 003), of turns here: what the model is told, and what is
//! left of it afterwards.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::inbound::media::Attachment;
use yabby_domain::session::path::Folders;
use yabby_memory::compat::{CompatIndex, Places};
use yabby_memory::settings::Settings;
use yabby_testkit::hashed_embedder::{HashedEmbedder, alone};
use yabby_testkit::stage::{eventually, in_group, say};

use crate::exec::{self, Service};
use crate::home::Home;
use crate::on_disk::{OnDisk, PERSON, PERSONS, from};

const MEMORIES: &str = "## Relevant memories from past conversations:";
const HOUR: i64 = 3_600_000;

/// A home whose model is stood in for, and remembers if that is wanted.
pub fn remembering(service: &Service, extras: &Value) -> Home {
    service.stand_in.otherwise(exec::answer());
    let home = exec::home(service, &json!({}));
    home.write(".openclaw/yabby-extras.json", &extras.to_string());
    home
}

fn on() -> Value {
    json!({"memory": {"autoRecall": {"enabled": true}}})
}

fn ask(home: &Home, words: &str) {
    home.out(&["agent", "--local", "--agent", "main", "-m", words]);
}

/// What was told in a request, without the rules that stand before it.
fn messages(body: &Value) -> Vec<Value> {
    let all = body["messages"].as_array().unwrap().clone();
    all.into_iter().filter(|message| message["role"] != "system" && message["role"] != "developer").collect()
}

fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        blocks => {
            let texts = blocks.as_array().unwrap().iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

/// The last question that the model was asked.
pub fn question(service: &Service) -> String {
    let told = messages(&service.stand_in.last_body());
    text(told.iter().rfind(|message| message["role"] == "user").unwrap())
}

#[test]
fn context_includes_session_transcript() {
    let service = exec::service([]);
    let home = remembering(&service, &on());
    for words in ["the first question", "the second question", "the third question"] {
        ask(&home, words);
    }
    let seen: Vec<Vec<Value>> = service.stand_in.seen().iter().map(|seen| messages(&seen.body)).collect();
    let roles: Vec<&str> = seen[2].iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    assert!(text(&seen[2][0]).ends_with("## New message:\nUser: the first question"));
    assert_eq!(text(&seen[2][1]), "done");
    // What a provider has cached of it is the same the next time.
    for (before, after) in seen.iter().zip(&seen[1..]) {
        assert_eq!(after[..before.len()], before[..]);
    }
    // What the model is told anyway is not remembered.
    assert!(!text(&seen[2][4]).contains(MEMORIES), "{}", text(&seen[2][4]));
}

#[test]
fn context_includes_memory_search_results() {
    let service = exec::service([]);
    let home = remembering(&service, &on());
    ask(&home, "The spare key is under the blue flower pot.");
    ask(&home, "/new what about a poem?");
    ask(&home, "where is the spare key?");
    let asked = question(&service);
    let lines: Vec<&str> = asked.lines().collect();
    assert_eq!(lines[0], MEMORIES, "{asked}");
    let found = lines.iter().find(|line| line.contains("blue flower pot")).unwrap();
    let score = found.strip_prefix("[Score: ").and_then(|rest| rest.split_once("] ")).unwrap().0;
    assert!(score.len() == 4 && (0.0..=1.0).contains(&score.parse::<f64>().unwrap()), "{found}");
    assert!(asked.ends_with("\n\n## New message:\nUser: where is the spare key?"), "{asked}");
    // People read what they wrote.
    let shown = home.out(&["history"]);
    assert!(shown.contains("where is the spare key?"), "{shown}");
    assert!(!shown.contains("Relevant memories") && !shown.contains("New message:"), "{shown}");
    // What was remembered is not remembered again.
    ask(&home, "/new and now a song");
    ask(&home, "where is the spare key?");
    let asked = question(&service);
    assert_eq!(asked.matches("blue flower pot").count(), 1, "{asked}");
    assert_eq!(
        (asked.matches(MEMORIES).count(), asked.matches("## New message:").count()),
        (1, 1),
        "{asked}"
    );
}

#[test]
fn memories_stay_out_of_the_context_by_default() {
    let service = exec::service([]);
    let home = remembering(&service, &json!({}));
    ask(&home, "The spare key is under the blue flower pot.");
    ask(&home, "/new what about a poem?");
    ask(&home, "where is the spare key?");
    assert_eq!(question(&service), "where is the spare key?");
}

/// What one chat is told stays there: neither the owner's notes nor another chat is in a group's prompt.
#[tokio::test]
async fn memories_of_one_chat_are_not_told_in_another() {
    let config = json!({
        "memory": {"autoRecall": {"enabled": true}},
        "commands": {"ownerAllowFrom": ["telegram:7"]},
        "channels": {"telegram": {"allowFrom": ["7", PERSON], "groups": {"*": {"requireMention": false}}}},
        "session": {"reset": {"mode": "idle", "idleMinutes": 240}},
    });
    let desk = OnDisk::new(&config);
    desk.home.write(".openclaw/workspace/MEMORY.md", "- the quince jam is in the owner's safe\n");
    say(&desk.engine, from("7", "the quince jam is in the cellar")).await;
    say(&desk.engine, from(PERSON, "the quince jam is in the attic")).await;
    say(&desk.engine, in_group("7", "the quince jam is in the kitchen")).await;
    desk.clock.advance(5 * HOUR);
    for (heard, own) in [
        (in_group("7", "where is the quince jam?"), "kitchen"),
        (from(PERSON, "where is the quince jam?"), "attic"),
    ] {
        say(&desk.engine, heard).await;
        let asked = desk.model.last_heard().pop().unwrap();
        assert!(asked.contains(MEMORIES) && asked.contains(own), "{asked}");
        for place in ["kitchen", "attic", "cellar", "safe"].iter().filter(|place| **place != own) {
            assert!(!asked.contains(place), "{place} in {asked}");
        }
    }
    // The owner alone is told the owner's.
    say(&desk.engine, from("7", "where is the quince jam?")).await;
    let asked = desk.model.last_heard().pop().unwrap();
    assert!(asked.contains("cellar") && asked.contains("safe") && !asked.contains("attic"), "{asked}");
    // A message without words.
    let mut picture = from("7", "");
    picture.message.media = vec![Attachment { path: "a.png".to_owned(), ..Attachment::default() }];
    say(&desk.engine, picture).await;
    let asked = desk.model.last_heard().pop().unwrap();
    assert!(asked.starts_with("user: ## New message:\nUser: (media)\n[media attached: a.png]"), "{asked}");
}

#[test]
fn messages_are_saved_to_transcript_after_response() {
    let service = exec::service([]);
    let home = remembering(&service, &on());
    ask(&home, "hello");
    let file = fs::read_to_string(home.transcript(&home.session_id("agent:main:main"))).unwrap();
    let lines: Vec<Value> = file.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: Vec<(String, String)> = lines
        .iter()
        .filter(|line| line["type"] == "message")
        .map(|line| (line["message"]["role"].as_str().unwrap().to_owned(), text(&line["message"])))
        .collect();
    let expected = [("user", "## New message:\nUser: hello"), ("assistant", "done")];
    assert_eq!(said, expected.map(|(role, words)| (role.to_owned(), words.to_owned())));
}

#[test]
fn session_reset_on_new_command() {
    for command in ["/new", "/reset"] {
        let service = exec::service([]);
        let home = remembering(&service, &on());
        ask(&home, "hello");
        let old = home.session_id("agent:main:main");
        ask(&home, command);
        assert_ne!(home.session_id("agent:main:main"), old, "{command}");
        assert!(home.transcript(&old).is_file());
        let told = messages(&service.stand_in.last_body());
        assert_eq!(told.len(), 1, "nothing of before: {told:?}");
        let asked = question(&service);
        assert!(asked.starts_with("A new session was started via /new or /reset."), "{asked}");
    }
}

/// Here every message is indexed as soon as it is written. The index that OpenClaw reads, too, waits for so many
/// (`sync.sessions.deltaMessages`, which is where `memoryIndexIntervalMessages` goes).
#[tokio::test]
async fn memory_indexing_triggers_after_n_messages() {
    let desk = OnDisk::new(&json!({}));
    for number in 1..=3 {
        say(&desk.engine, from(PERSON, &format!("message {number}"))).await;
        let indexed = || desk.memory.recall().totals().unwrap().messages;
        eventually("both are indexed", || indexed() == 2 * number).await;
    }
    let sync = json!({"onSearch": false, "onSessionStart": false, "sessions": {"deltaMessages": 5, "deltaBytes": 1_000_000}});
    let search = json!({"provider": "openai", "sources": ["sessions"], "experimental": {"sessionMemory": true}, "sync": sync});
    let config = Config::new(json!({"agents": {"defaults": {"memorySearch": search}}}));
    let state = desk.home.path().join(".openclaw").to_string_lossy().into_owned();
    let folders = Folders { state: &state, home: &state, current: "/" };
    let settings = Settings::from_config(&config, &AgentId::default(), &folders).unwrap();
    let places = Places {
        agent: AgentId::default(),
        workspace: desk.home.path().join("w"),
        sessions: desk.home.sessions(),
    };
    let embedders = alone(Arc::new(HashedEmbedder::new("openai", "words")));
    let index = CompatIndex::open(places, settings, embedders).await.unwrap();
    let transcript = desk.home.sessions().join("slow.jsonl");
    let mut text = String::new();
    let mut due = Vec::new();
    for number in 1..=10 {
        text.push_str(&format!(
            "{}\n",
            json!({"type": "message", "message": {"role": "user", "content": format!("{number}")}})
        ));
        fs::write(&transcript, &text).unwrap();
        if index.session_grew(&transcript).await.unwrap() {
            due.push(number);
        }
    }
    assert_eq!(due, [5, 10]);
}

#[tokio::test]
async fn stale_sessions_auto_reset() {
    let config = json!({
        "memory": {"autoRecall": {"enabled": true}},
        "session": {"reset": {"mode": "idle", "idleMinutes": 240}},
    });
    let desk = OnDisk::new(&config);
    say(&desk.engine, from(PERSON, "the heron nests by the old mill")).await;
    let old = desk.session_id(PERSONS).await;
    desk.clock.advance(5 * HOUR);
    say(&desk.engine, from(PERSON, "where does the heron nest?")).await;
    assert_ne!(desk.session_id(PERSONS).await, old);
    let heard = desk.model.last_heard();
    assert_eq!(heard.len(), 1, "the conversation begins anew: {heard:?}");
    // And is remembered.
    assert!(heard[0].contains(MEMORIES) && heard[0].contains("by the old mill"), "{heard:?}");
}
