//! What is remembered, over the wire.

use serde_json::json;
use yabby_testkit::memory_store::MemorySessions;
use yabby_testkit::remembering::{memory, places};

use crate::client::Stand;

#[tokio::test]
async fn notes_and_words_are_found_by_whoever_is_connected() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("workspace/memory")).unwrap();
    std::fs::create_dir_all(folder.path().join("sessions")).unwrap();
    std::fs::write(folder.path().join("workspace/MEMORY.md"), "The spare key is under the blue pot.\n")
        .unwrap();
    let session = "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-02-03T10:00:00.000Z\",\"cwd\":\"/\"}\n{\"type\":\"message\",\"id\":\"m1\",\"parentId\":null,\"timestamp\":\"2026-02-03T10:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"Order crabs for Friday\"}}\n";
    std::fs::write(folder.path().join("sessions/s1.jsonl"), session).unwrap();
    let sessions = MemorySessions::default();
    let kept = memory(places(folder.path()), &sessions, json!({}), None).unwrap();
    let stand = Stand::with(json!({}), Box::new(move |_| Some(kept.clone()))).await;
    use yabby_domain::seam::SessionStore as _;
    let record = yabby_domain::session::entry::SessionEntry::new(
        json!({"sessionId": "s1"}).as_object().unwrap().clone(),
    );
    let key = yabby_domain::session::key::SessionKey::new("agent:main:main");
    sessions.update(&key, Box::new(move |entry| *entry = Some(record))).await.unwrap();
    let mut owner = stand.owner().await;
    let found = owner.get("memory.search", json!({"query": "where is the spare key?"})).await;
    assert!(found["results"][0]["snippet"].as_str().unwrap().contains("blue pot"), "{found}");
    let said = owner.get("sessions.search", json!({"query": "crabs"})).await;
    assert_eq!(said["messages"][0]["text"], "Order crabs for Friday", "{said}");
    assert_eq!(owner.get("sessions.search", json!({"query": "lobster"})).await["count"], 0);
    let status = owner.get("memory.status", json!({})).await;
    assert_eq!((&status["notes"], &status["messages"]), (&json!(1), &json!(1)), "{status}");
}

#[tokio::test]
async fn an_agent_without_a_memory_says_so() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    assert_eq!(owner.get("memory.status", json!({})).await, json!({"agentId": "main", "enabled": false}));
    let why = owner.refusal("memory.search", json!({"query": "x"})).await;
    assert!(why.contains("memorySearch.enabled"), "{why}");
    let unknown = owner.refusal("memory.status", json!({"agentId": "ghost"})).await;
    assert_eq!(unknown, "unknown agent id \"ghost\"");
}
