//! Sessions over the wire: what no recording shows.

use serde_json::{Value, json};
use yabby_domain::message::Message;
use yabby_domain::seam::{Begin, SessionStore as _, TranscriptStore as _};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::tree::{NewCompaction, NewEntry};

use crate::client::{Client, Stand};

fn message(role: &str, said: &str) -> NewEntry {
    let mut message = Message::default();
    message.set("role", role);
    message.set("content", said);
    NewEntry::Message(message)
}

/// A session in which this was said.
async fn talk(stand: &Stand, owner: &mut Client, key: &str, entries: Vec<NewEntry>) -> Vec<String> {
    let made = owner.get("sessions.patch", json!({"key": key, "verboseLevel": "off"})).await;
    let id = made["entry"]["sessionId"].as_str().unwrap();
    let begin = Begin { session_id: id.to_owned(), cwd: String::new(), parent: None };
    let transcript = TranscriptId::new(id, None).unwrap();
    let mut writer = stand.stage.transcripts.open(&transcript, begin).await.unwrap();
    writer.append(entries).await.unwrap()
}

fn words(history: &Value) -> Vec<&str> {
    history["messages"].as_array().unwrap().iter().filter_map(|message| message["content"].as_str()).collect()
}

#[tokio::test]
async fn a_fork_goes_on_from_an_entry_under_a_key_of_its_own() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let said = vec![message("user", "one"), message("assistant", "two"), message("user", "three")];
    let ids = talk(&stand, &mut owner, "agent:main:a", said).await;
    let fork = owner
        .get(
            "sessions.fork",
            json!({"key": "agent:main:a", "at": ids[1], "newKey": "What-if", "label": "if"}),
        )
        .await;
    assert_eq!(fork["key"], "agent:main:what-if");
    assert_eq!(fork["forkedFrom"], "agent:main:a");
    let history = owner.get("chat.history", json!({"sessionKey": "agent:main:what-if"})).await;
    assert_eq!(words(&history), ["one", "two"]);
    let taken = owner.refusal("sessions.fork", json!({"key": "agent:main:a", "newKey": "what-if"})).await;
    assert_eq!(taken, "there is a session agent:main:what-if already; choose another newKey");
    let label = owner.refusal("sessions.fork", json!({"key": "agent:main:a", "label": "if"})).await;
    assert_eq!(label, "label already in use: if");
    let silent = owner.refusal("sessions.fork", json!({"key": "agent:main:nothing"})).await;
    assert_eq!(silent, "nothing has been said yet in agent:main:nothing");
}

#[tokio::test]
async fn a_message_is_injected_only_where_something_was_said() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let begun = owner.get("sessions.patch", json!({"key": "agent:main:silent", "verboseLevel": "off"})).await;
    let records = [
        ("agent:main:no-id", json!({"updatedAt": 1})),
        ("agent:main:blank-id", json!({"sessionId": "", "updatedAt": 1})),
        ("agent:main:other-file", json!({"sessionId": "s", "sessionFile": "/notes.txt", "updatedAt": 1})),
    ];
    for (key, fields) in records {
        let entry = SessionEntry::new(fields.as_object().unwrap().clone());
        let change = Box::new(|record: &mut Option<SessionEntry>| *record = Some(entry));
        stand.stage.sessions.update(&SessionKey::new(key), change).await.unwrap();
    }
    let table = [
        ("agent:main:nobody", "session not found"),
        ("agent:ghost:main", "session not found"),
        ("agent:main:no-id", "session not found"),
        ("agent:main:blank-id", "session not found"),
        ("agent:main:other-file", "transcript file not found"),
        ("agent:main:silent", "transcript file not found"),
    ];
    for (key, why) in table {
        let params = json!({"sessionKey": key, "message": "by the way"});
        assert_eq!(owner.refusal("chat.inject", params).await, why, "{key}");
    }
    assert!(stand.stage.transcripts.list().await.unwrap().is_empty(), "nothing was begun");
    talk(&stand, &mut owner, "agent:main:silent", vec![message("user", "one"), message("assistant", "two")])
        .await;
    owner.get("chat.inject", json!({"sessionKey": "silent", "message": "by the way"})).await;
    let history = owner.get("chat.history", json!({"sessionKey": "agent:main:silent"})).await;
    assert_eq!(history["sessionId"], begun["entry"]["sessionId"]);
    assert_eq!(history["messages"][2]["content"][0]["text"], "by the way");
}

#[tokio::test]
async fn a_limit_of_a_history_is_a_whole_number() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let said: Vec<NewEntry> = ["one", "two", "three"].map(|text| message("assistant", text)).to_vec();
    talk(&stand, &mut owner, "agent:main:a", said).await;
    let history = |limit: Value| json!({"sessionKey": "agent:main:a", "limit": limit});
    let table = [
        (json!(1.5), "at /limit: must be integer"),
        (json!("2"), "at /limit: must be integer"),
        (json!(null), "at /limit: must be integer"),
        (json!(0.5), "at /limit: must be integer; at /limit: must be >= 1"),
        (json!(1000.5), "at /limit: must be integer; at /limit: must be <= 1000"),
    ];
    for (limit, why) in table {
        let refusal = owner.refusal("chat.history", history(limit.clone())).await;
        assert_eq!(refusal, format!("invalid chat.history params: {why}"), "{limit}");
    }
    assert_eq!(words(&owner.get("chat.history", history(json!(2.0))).await), ["two", "three"]);
}

#[tokio::test]
async fn what_was_changed_last_stands_first_however_soon_it_came() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let mut listed = Vec::new();
    // The clock of the stage stands still.
    for key in ["agent:main:a", "agent:main:b", "agent:main:a", "agent:main:c", "agent:main:b"] {
        owner.get("sessions.reset", json!({"key": key})).await;
        listed.retain(|known| *known != key);
        listed.insert(0, key);
        let list = owner.get("sessions.list", json!({})).await;
        let keys: Vec<&str> =
            list["sessions"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap()).collect();
        assert_eq!(keys, listed);
    }
}

#[tokio::test]
async fn a_list_of_hundreds_is_told_in_one_response() {
    const MANY: usize = 250;
    let stand = Stand::new(json!({})).await;
    for number in 0..MANY {
        let key = SessionKey::new(format!("agent:main:n{number}"));
        let fields = json!({"sessionId": format!("s{number}"), "updatedAt": number, "label": "\"quoted\""});
        let entry = SessionEntry::new(fields.as_object().unwrap().clone());
        stand.stage.sessions.update(&key, Box::new(|record| *record = Some(entry))).await.unwrap();
    }
    let mut owner = stand.owner().await;
    let list = owner.get("sessions.list", json!({})).await;
    let members: Vec<&String> = list.as_object().unwrap().keys().collect();
    assert_eq!(members, ["ts", "path", "count", "defaults", "sessions"]);
    assert_eq!(list["count"], MANY);
    let rows = list["sessions"].as_array().unwrap();
    let keys: Vec<&str> = rows.iter().map(|row| row["key"].as_str().unwrap()).collect();
    let newest_first: Vec<String> = (0..MANY).rev().map(|number| format!("agent:main:n{number}")).collect();
    assert_eq!(keys, newest_first);
    assert_eq!(rows[0]["label"], "\"quoted\"");
    let few = owner.get("sessions.list", json!({"limit": 3})).await;
    assert_eq!(few["sessions"], json!(rows[..3]));
    let titled = owner.get("sessions.list", json!({"limit": 1, "includeDerivedTitles": true})).await;
    assert_eq!(titled["sessions"][0]["key"], keys[0]);
}

#[tokio::test]
async fn a_tree_tells_every_branch_and_an_undone_compaction_is_one() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let ids =
        talk(&stand, &mut owner, "agent:main:a", vec![message("user", "one"), message("assistant", "two")])
            .await;
    let nothing = owner.refusal("sessions.undoCompaction", json!({"key": "agent:main:a"})).await;
    assert_eq!(nothing, "no compaction in agent:main:a is left to undo; the model is told all of it");
    let compaction = NewCompaction {
        summary: "they counted".to_owned(),
        first_kept: ids[1].clone(),
        tokens_before: 10.0,
        ..NewCompaction::default()
    };
    let more = vec![NewEntry::Compaction(compaction), message("user", "three")];
    talk(&stand, &mut owner, "agent:main:a", more).await;
    let undone = owner.get("sessions.undoCompaction", json!({"key": "agent:main:a"})).await;
    assert_eq!((&undone["copied"], &undone["messages"]), (&json!(1), &json!(3)));
    let tree = owner.get("sessions.tree", json!({"key": "agent:main:a"})).await;
    let entries = tree["entries"].as_array().unwrap();
    let active = |text: &str| {
        entries
            .iter()
            .filter(|entry| entry["text"] == text)
            .map(|entry| entry["active"] == true)
            .collect::<Vec<_>>()
    };
    assert_eq!(active("three"), [false, true], "{tree}");
    assert_eq!(active("one"), [true]);
    assert_eq!(tree["count"], entries.len());
    let last = owner.get("sessions.tree", json!({"key": "agent:main:a", "limit": 1})).await;
    assert_eq!(last["entries"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn dropped_lines_come_back() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let said = ["one", "two", "three", "four"].map(|text| message("assistant", text));
    talk(&stand, &mut owner, "agent:main:a", said.to_vec()).await;
    let compacted = owner.get("sessions.compact", json!({"key": "agent:main:a", "maxLines": 1})).await;
    assert_eq!(compacted["compacted"], true);
    talk(&stand, &mut owner, "agent:main:a", vec![message("user", "five")]).await;
    let undone = owner.get("sessions.undoCompaction", json!({"key": "agent:main:a"})).await;
    assert_eq!((&undone["restored"], &undone["messages"]), (&json!(3), &json!(5)), "{undone}");
    assert_eq!(undone["backup"], compacted["archived"]);
    let nothing = owner.refusal("sessions.undoCompaction", json!({"key": "agent:main:a"})).await;
    assert_eq!(nothing, "no compaction in agent:main:a is left to undo; the model is told all of it");
}

#[tokio::test]
async fn of_many_who_want_a_label_one_gets_it() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let mut waiting = Vec::new();
    for at in 0..20 {
        let params = json!({"key": format!("agent:main:s{at}"), "label": "the one"});
        waiting.push(owner.begin("sessions.patch", params).await);
    }
    let mut given = 0;
    for id in waiting {
        given += usize::from(owner.answer(&id).await["ok"] == true);
    }
    assert_eq!(given, 1);
    let found = owner.get("sessions.resolve", json!({"label": "the one"})).await;
    assert!(found["key"].as_str().unwrap().starts_with("agent:main:s"));
}

#[tokio::test]
async fn sessions_are_found_by_key_id_and_label() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let made = owner.get("sessions.patch", json!({"key": "agent:main:a", "label": "L"})).await;
    let id = &made["entry"]["sessionId"];
    for params in
        [json!({"key": "a"}), json!({"key": "agent:main:A"}), json!({"sessionId": id}), json!({"label": "L"})]
    {
        let found = owner.get("sessions.resolve", params.clone()).await;
        assert_eq!(found, json!({"ok": true, "key": "agent:main:a"}), "{params}");
    }
    let table = [
        (json!({}), "Either key, sessionId, or label is required"),
        (json!({"key": "a", "label": "L"}), "Provide either key, sessionId, or label (not multiple)"),
        (json!({"key": "b"}), "No session found: b"),
        (json!({"sessionId": "b"}), "No session found: b"),
        (json!({"label": "l"}), "No session found with label: l"),
    ];
    for (params, why) in table {
        assert_eq!(owner.refusal("sessions.resolve", params.clone()).await, why, "{params}");
    }
}

#[tokio::test]
async fn a_notice_waits_for_the_main_session() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    owner.get("system-event", json!({"text": "the door is open"})).await;
    let status = owner.get("status", json!({})).await;
    assert_eq!(status["queuedSystemEvents"], json!(["the door is open"]));
    let presence = owner.event("presence").await;
    assert!(presence["presence"].as_array().unwrap().iter().any(|entry| entry["text"] == "the door is open"));
}

#[tokio::test]
async fn who_a_notice_is_about_is_said_once() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    for (text, mode) in
        [("Node: mac", "local"), ("Node: mac", "remote"), ("hello", ""), ("Node: mac", "local")]
    {
        owner
            .get("system-event", json!({"text": text, "instanceId": "I", "host": "mac", "mode": mode}))
            .await;
    }
    let status = owner.get("status", json!({})).await;
    let told = json!(["Node: mac · mode local", "mode remote", "hello", "Node: mac · mode local"]);
    assert_eq!(status["queuedSystemEvents"], told);
}
