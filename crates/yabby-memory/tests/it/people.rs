//! Who finds what: everybody who may look, times everything that may be found.

use serde_json::json;
use yabby_domain::session::key::SessionKey;
use yabby_memory::audience::Viewer;
use yabby_memory::recall::{Filter, Wanted};

use crate::house::{House, places};

/// Where something was said, and what the transcript is called.
const SOURCES: [(&str, &str); 9] = [
    ("agent:main:main", "main"),
    ("agent:main:telegram:dm:1", "owner-by-telegram"),
    ("agent:main:telegram:dm:7", "anna"),
    ("agent:main:discord:dm:anna", "anna-by-discord"),
    ("agent:main:telegram:dm:8", "ben"),
    ("agent:main:telegram:group:-100", "family"),
    ("agent:main:telegram:group:-100:topic:5", "family-topic"),
    ("agent:main:telegram:group:-200", "work"),
    ("agent:main:subagent:x", "task-of-the-family"),
];

/// From where is looked, whether it is the owner alone, and what is found there.
const VIEWS: [(&str, bool, &[&str]); 11] = [
    ("agent:main:main", true, &["main", "notes", "old", "owner-by-telegram"]),
    // Somebody else writes in the main session: they are told what was said in it.
    ("agent:main:main", false, &["main"]),
    ("agent:main:telegram:dm:1", true, &["main", "notes", "old", "owner-by-telegram"]),
    ("agent:main:telegram:dm:7", false, &["anna"]),
    ("agent:main:telegram:dm:8", false, &["ben"]),
    ("agent:main:telegram:dm:9", false, &[]),
    // The owner writes in a group, and others listen.
    ("agent:main:telegram:group:-100", true, &["family", "family-topic", "task-of-the-family"]),
    ("agent:main:telegram:group:-100:topic:5", false, &["family", "family-topic", "task-of-the-family"]),
    ("agent:main:telegram:group:-200", true, &["work"]),
    ("agent:main:subagent:x", true, &["family", "family-topic", "task-of-the-family"]),
    ("agent:main:telegram:group:-300", false, &[]),
];

async fn house() -> House {
    let config = json!({
        "commands": {"ownerAllowFrom": ["telegram:1"]},
        "channels": {"telegram": {"allowFrom": ["1", "7", "8"]}},
    });
    let house = House::with(config, None);
    for (key, id) in SOURCES {
        // A text that is found twice is shown once.
        let said = format!("[Telegram Somebody id:0] Zoe: the quince jam of {id} is in the cellar");
        house.session(key, id, &said).await;
    }
    let spawned = json!({"spawnedBy": "agent:main:telegram:group:-100"});
    house.record("agent:main:subagent:x", "task-of-the-family", spawned).await;
    // Nobody knows any more whose this was.
    house.say("old", "user", "the quince jam is in the cellar");
    house.put("MEMORY.md", "- the quince jam is in the cellar\n");
    house
}

fn names(places: Vec<String>) -> Vec<String> {
    let name =
        |place: String| match place.strip_prefix("sessions/").and_then(|rest| rest.split(".jsonl").next()) {
            Some(name) => name.to_owned(),
            None => "notes".to_owned(),
        };
    let mut names: Vec<String> = places.into_iter().map(name).collect();
    names.sort();
    names.dedup();
    names
}

#[tokio::test]
async fn everybody_finds_what_they_were_there_for_and_nothing_else() {
    let house = house().await;
    for (key, is_owner_alone, expected) in VIEWS {
        let viewer = house.memory.viewer(&SessionKey::new(key), is_owner_alone).await.unwrap();
        let found = house.search("where is the quince jam?", viewer.clone()).await;
        assert_eq!(names(places(&found)), expected, "{key} {is_owner_alone}");
        // Every word, exactly: the same.
        let wanted = Wanted {
            words: "quince jam".to_owned(),
            viewer,
            filter: Filter::default(),
            role: None,
            since: None,
            until: None,
            most: 100,
            skip: 0,
        };
        let (messages, _) = house.memory.messages(wanted).await.unwrap();
        let found = messages.into_iter().map(|message| message.path).collect();
        assert_eq!(names(found), expected, "{key} {is_owner_alone}");
    }
}

#[tokio::test]
async fn lists_and_surroundings_keep_to_the_same_rule() {
    let house = house().await;
    house.found("quince").await;
    for (key, is_owner_alone, expected) in VIEWS {
        let viewer = house.memory.viewer(&SessionKey::new(key), is_owner_alone).await.unwrap();
        let recall = house.memory.recall();
        let listed = recall.conversations(&viewer, &Filter::default(), 100).unwrap();
        let expected_listed: Vec<&&str> = expected.iter().filter(|name| **name != "notes").collect();
        assert_eq!(
            names(listed.into_iter().map(|listed| listed.path).collect()),
            expected_listed.iter().map(|name| name.to_string()).collect::<Vec<_>>(),
            "{key}"
        );
        for (_, id) in SOURCES {
            let is_seen = expected.contains(&id);
            let by_line = recall.around_line(&viewer, &format!("sessions/{id}.jsonl"), 2, 0, 5).unwrap();
            let by_entry = recall.around_entry(&viewer, id, &format!("{id}-1"), 1, 2).unwrap();
            assert_eq!((by_line.is_some(), by_entry.is_some()), (is_seen, is_seen), "{key} {id}");
        }
    }
}

#[tokio::test]
async fn the_configuration_may_share_more() {
    let shared = json!({"memory": {"share": {"notes": ["agent:main:telegram:group:-100*"], "groups": true}}});
    let house = House::with(shared, None);
    house.put("MEMORY.md", "- the quince jam is in the cellar\n");
    house.session("agent:main:telegram:group:-100", "family", "Zoe: quince jam").await;
    house.session("agent:main:telegram:dm:7", "anna", "quince jam").await;
    let found = async |key: &str, alone: bool| {
        let viewer = house.memory.viewer(&SessionKey::new(key), alone).await.unwrap();
        names(places(&house.search("quince", viewer).await))
    };
    assert_eq!(found("agent:main:telegram:group:-100", false).await, ["family", "notes"]);
    assert_eq!(found("agent:main:telegram:group:-200", false).await, [""; 0]);
    assert_eq!(found("agent:main:main", true).await, ["family", "notes"]);
    assert_eq!(found("agent:main:main", false).await, [""; 0]);
}

/// A conversation that began anew is still the group's, even if its record names another transcript.
#[tokio::test]
async fn earlier_conversations_stay_with_their_people() {
    let house = House::new();
    let group = "agent:main:telegram:group:-100";
    house.session(group, "first", "Zoe: the quince jam").await;
    house.found("quince").await;
    house.session(group, "second", "Zoe: more quince jam").await;
    house.say("first", "user", "Zoe: a late word about quince");
    let viewer = house.memory.viewer(&SessionKey::new(group), false).await.unwrap();
    assert_eq!(names(places(&house.search("quince", viewer).await)), ["first", "second"]);
    assert_eq!(house.found("quince").await, [""; 0]);
}

#[test]
fn who_sees_nothing_sees_nothing() {
    // A viewer without a place of their own has an empty condition, which must not be an open one.
    let nobody = Viewer { is_owner_alone: false, ..Viewer::owner() };
    assert!(!nobody.sees_notes());
}

/// Whoever could tell by a score that a word or a name is somewhere would know what others say.
#[tokio::test]
async fn scores_tell_nothing_about_what_may_not_be_seen() {
    let mut told = Vec::new();
    for (who, what) in [("Sigmund", "an ocelot"), ("Leopold", "a plover")] {
        let house = House::new();
        house.session("agent:main:telegram:dm:7", "anna", "my boat has a plover and Leopold on it").await;
        house.say("anna", "user", "the boat is slow, and a boat costs a fortune");
        for at in 0..30 {
            let said = format!("[Telegram {who} id:{at}] {who}: {what} is on the boat");
            house
                .session(&format!("agent:main:telegram:dm:{}", 100 + at), &format!("other{at}"), &said)
                .await;
        }
        let anna = house.memory.viewer(&SessionKey::new("agent:main:telegram:dm:7"), false).await.unwrap();
        for question in
            ["boat ocelot", "boat plover", "what about Leopold and the boat?", "boat Sigmund", "fortune"]
        {
            let found = house.search(question, anna.clone()).await;
            assert!(!found.hits.is_empty(), "{question}");
            told.push((question, found.hits.iter().map(|hit| (hit.position, hit.score)).collect::<Vec<_>>()));
        }
    }
    let (one, other) = told.split_at(told.len() / 2);
    assert_eq!(one, other);
}
