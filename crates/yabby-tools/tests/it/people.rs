//! Who finds what was said by whom.

use yabby_domain::session::key::SessionKey;

use crate::desk::Desk;

async fn talked() -> Desk {
    let desk = Desk::new();
    desk.session(
        "agent:main:main",
        "now",
        &["The gate code is 1234", "Understood.", "What was the gate code?"],
    )
    .await;
    desk.session("agent:main:telegram:dm:7", "ben", &["The gate squeaks", "Oil it."]).await;
    desk.session("agent:main:telegram:group:9", "club", &["[Telegram Club id:9] Zoe: the gate is red"]).await;
    desk.transcript("before-the-reset", &["The gate was built in 1999", "Long ago."]).await;
    desk
}

fn places(found: &[(String, String)]) -> Vec<&str> {
    let mut places: Vec<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
    places.sort_unstable();
    places
}

#[tokio::test]
async fn the_owner_finds_what_is_theirs_and_what_is_nobodys() {
    let desk = talked().await;
    let found = desk.found("gate").await;
    assert_eq!(places(&found), ["sessions/before-the-reset.jsonl:2", "sessions/now.jsonl:2"]);
    assert_eq!(desk.found("squeaks").await, []);
    let output = desk.call("memory_search", serde_json::json!({"query": "code"})).await;
    let best = &output.details.unwrap()["results"][0];
    assert_eq!((best["speaker"].as_str(), best["source"].as_str()), (Some("user"), Some("sessions")));
    assert!(best["time"].as_str().unwrap().ends_with('Z'), "{best}");
}

#[tokio::test]
async fn others_find_the_conversation_that_they_are_in() {
    let mut desk = talked().await;
    desk.context.sender_is_owner = false;
    assert_eq!(places(&desk.found("gate").await), ["sessions/now.jsonl:2"]);
    desk.context.session_key = SessionKey::new("agent:main:telegram:dm:7");
    desk.context.session_id = "ben".to_owned();
    assert_eq!(places(&desk.found("gate").await), ["sessions/ben.jsonl:2"]);
    desk.context.session_key = SessionKey::new("agent:main:telegram:dm:8");
    desk.context.session_id = "nobody".to_owned();
    assert_eq!(desk.found("gate").await, []);
}

#[tokio::test]
async fn in_a_group_the_owner_does_not_read_out_other_conversations() {
    let mut desk = talked().await;
    desk.context.session_key = SessionKey::new("agent:main:telegram:group:9");
    desk.context.session_id = "club".to_owned();
    desk.transcript("club", &["unanswered", "said", "the gate?"]).await;
    let found = desk.found("gate").await;
    assert_eq!(places(&found), ["sessions/club.jsonl:2"]);
}

#[tokio::test]
async fn where_agents_share_a_folder_each_finds_its_own() {
    let desk = talked().await;
    desk.session("agent:work:main", "secret", &["The gate of the office is open"]).await;
    let found = desk.found("gate").await;
    assert_eq!(
        places(&found),
        ["sessions/now.jsonl:2"],
        "nobody knows whose the transcript without a record is"
    );
}

#[tokio::test]
async fn a_question_does_not_find_itself_but_an_answered_one_is_found() {
    let desk = Desk::new();
    desk.session("agent:main:main", "now", &["Where is the spanner?"]).await;
    assert_eq!(desk.found("spanner").await, []);
    desk.transcript("now", &["", "In the shed, as the spanner always is."]).await;
    // The answer is seen beside it.
    let [(_, found)] = &desk.found("spanner").await[..] else { panic!() };
    assert!(found.contains("Where is the spanner?") && found.contains("In the shed"), "{found}");
}
