//! What is kept before a compaction, and the summary that it leaves.

use serde_json::json;
use yabby_domain::compaction::summary::{Focus, Reasoning, SummaryCall, SummaryKind, conversation_text};
use yabby_domain::flush;
use yabby_domain::message::Message;
use yabby_domain::seam::model::Purpose;
use yabby_domain::text;
use yabby_models::offline::Offline;

use crate::room::{Room, text_of};

async fn flushed(room: &mut Room) -> String {
    room.request.purpose = Purpose::Flush;
    room.turn(flush::DEFAULT_PROMPT).await
}

#[tokio::test]
async fn a_flush_writes_down_what_people_said_about_themselves() {
    let mut room = Room::new();
    room.put("MEMORY.md", "- I live in Graz\n");
    room.says("My name is Sam. I live in Graz. It rains. What is my name?");
    room.push(json!({"role": "assistant", "content": [{"type": "text", "text": "My name is not Sam."}]}));
    room.says("[Telegram Club 2026-02-03T12:00Z] Zoë: I prefer tea\n[from: Zoë]");
    assert_eq!(flushed(&mut room).await, "NO_REPLY");
    assert_eq!(room.called(), [vec!["memory_get", "memory_get"], vec!["write"]]);
    assert_eq!(room.text("memory/2026-02-03.md"), "- My name is Sam.\n- I prefer tea (said by Zoë)\n");
    // The same conversation again: everything is there already.
    let asked = room
        .request
        .messages
        .iter()
        .position(|message| message.text_field("content") == Some(flush::DEFAULT_PROMPT));
    room.request.messages.truncate(asked.unwrap());
    assert_eq!(flushed(&mut room).await, "NO_REPLY");
    assert_eq!(room.called(), [["memory_get", "memory_get"]]);
}

#[tokio::test]
async fn a_flush_without_anything_to_keep_is_silent() {
    let mut room = Room::new();
    room.says("list files");
    assert_eq!(flushed(&mut room).await, "NO_REPLY");
    assert!(room.rounds.is_empty());
    room.without("write");
    room.says("My name is Sam.");
    assert_eq!(flushed(&mut room).await, "NO_REPLY");
    assert!(room.rounds.is_empty());
}

#[tokio::test]
async fn a_flush_uses_the_file_that_its_prompt_names_and_tells_of_a_failure() {
    let mut room = Room::new();
    room.request.purpose = Purpose::Flush;
    room.says("My name is Sam.");
    assert_eq!(room.turn("Store memories in memory/2025-01-02.md, or reply NO_REPLY.").await, "NO_REPLY");
    assert_eq!(room.text("memory/2025-01-02.md"), "- My name is Sam.\n");

    let mut room = Room::new();
    room.put("memory", "a file in the way");
    room.says("My name is Sam.");
    let told = flushed(&mut room).await;
    assert!(told.starts_with("I could not write down what to remember"), "{told}");
}

fn said(role: &str, words: &str) -> Message {
    Message::from_value(json!({"role": role, "content": [{"type": "text", "text": words}]})).unwrap()
}

async fn summary(kind: SummaryKind, messages: &[Message], previous: Option<&str>, max_tokens: u64) -> String {
    let previous =
        previous.map_or(String::new(), |text| format!("<previous-summary>\n{text}\n</previous-summary>\n\n"));
    let call = SummaryCall {
        kind,
        material: format!("<conversation>\n{}\n</conversation>\n\n{previous}", conversation_text(messages)),
        focus: Focus::None,
        max_tokens,
        reasoning: Reasoning::Unset,
    };
    let mut room = Room::new();
    room.offline = Offline::with_context_window(100);
    room.request.tools.clear();
    room.request.system = SummaryCall::SYSTEM_PROMPT.to_owned();
    room.request.purpose = Purpose::Summary;
    room.request.max_tokens = Some(max_tokens);
    room.says(&call.prompt());
    text_of(&room.ask().await.unwrap())
}

fn talk() -> Vec<Message> {
    vec![
        said("user", "hello"),
        said("assistant", "Hello!"),
        said("user", "Help me plan the trip to Lisbon. I prefer trains. We decided to leave on 2026-05-01."),
        said("assistant", "Here is a plan. It has three parts."),
        said("user", "My budget is 900 euros. Which hotel?"),
    ]
}

#[tokio::test]
async fn a_summary_has_the_headings_that_were_asked_for() {
    let made = summary(SummaryKind::Initial, &talk(), None, 2000).await;
    let expected = [
        "## Goal\n- Help me plan the trip to Lisbon.",
        "## Constraints & Preferences\n- I prefer trains.",
        "## Progress\n\n### Done\n- [x] Hello!\n- [x] Here is a plan.",
        "### In Progress\n- [ ] My budget is 900 euros. Which hotel?",
        "### Blocked\n- (none)",
        "## Key Decisions\n- We decided to leave on 2026-05-01.",
        "## Next Steps\n1. Answer: My budget is 900 euros. Which hotel?",
        "## Critical Context\n- My budget is 900 euros.",
    ];
    for part in expected {
        assert!(made.contains(part), "{part}\n---\n{made}");
    }
    let prefix = summary(SummaryKind::TurnPrefix, &talk(), None, 2000).await;
    for part in [
        "## Original Request\n- Help me plan",
        "## Early Progress\n- Hello!",
        "## Context for Suffix\n- My budget",
    ] {
        assert!(prefix.contains(part), "{part}\n---\n{prefix}");
    }
}

#[tokio::test]
async fn an_earlier_summary_is_carried_on() {
    let earlier = summary(SummaryKind::Initial, &talk(), None, 2000).await;
    let later = [said("user", "My seat is 12A."), said("assistant", "Good.")];
    let made = summary(SummaryKind::Update, &later, Some(&earlier), 2000).await;
    for line in [
        "- I prefer trains.",
        "- My budget is 900 euros.",
        "- My seat is 12A.",
        "- We decided to leave on 2026-05-01.",
        "- [x] My budget is 900 euros. Which hotel?",
        "- [x] Here is a plan.",
    ] {
        assert_eq!(made.lines().filter(|found| *found == line).count(), 1, "{line}\n---\n{made}");
    }
    assert!(!made.contains("- [ ]") && !made.contains("1. Answer"), "{made}");
}

#[tokio::test]
async fn a_summary_keeps_to_its_length() {
    let long: Vec<Message> =
        (0..300).map(|at| said("user", &format!("My número {at} is {at} 😀. I like {at}."))).collect();
    for tokens in [1, 10, 100, 500] {
        let made = summary(SummaryKind::Initial, &long, None, tokens).await;
        assert!(text::units(&made) as u64 <= tokens * 4, "{tokens} {}", text::units(&made));
    }
    let made = summary(SummaryKind::Initial, &long, None, 500).await;
    assert!(made.contains("My número 299 is 299 😀."), "the latest is kept: {made}");
}
