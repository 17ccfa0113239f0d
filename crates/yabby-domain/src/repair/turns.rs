//! Joining turns of one side for providers that want them to alternate (`transcripts.md` §8).

use crate::json;
use crate::message::{Message, Role};

/// Joins consecutive user messages, for Anthropic. The later message's fields win.
///
/// A string of text becomes a text block, so that nothing a user said is lost (`transcripts.md` §9).
pub fn join_user_turns(messages: Vec<Message>) -> Vec<Message> {
    join(messages, Role::User, |earlier, mut later| {
        let content = [earlier.to_blocks(), later.to_blocks()].concat();
        later.set("content", content);
        let has_time = later.get("timestamp").is_some_and(|time| !time.is_null());
        if let Some(time) = earlier.get("timestamp").filter(|_| !has_time) {
            later.set("timestamp", time.clone());
        }
        later
    })
}

/// Joins consecutive assistant messages, for Gemini. The earlier message's fields stay, but how the
/// turn ended is told by the later one.
pub fn join_assistant_turns(messages: Vec<Message>) -> Vec<Message> {
    join(messages, Role::Assistant, |mut earlier, later| {
        earlier.set("content", [earlier.blocks(), later.blocks()].concat());
        for field in ["usage", "stopReason", "errorMessage"] {
            if let Some(value) = later.get(field).filter(|value| json::truthy(value)) {
                earlier.set(field, value.clone());
            }
        }
        earlier
    })
}

/// Replaces each run of messages of one role by what `merge` makes of them, pair by pair.
fn join(messages: Vec<Message>, role: Role, merge: impl Fn(Message, Message) -> Message) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        let joins = message.role() == role && out.last().is_some_and(|last| last.role() == role);
        match out.pop_if(|_| joins) {
            Some(last) => out.push(merge(last, message)),
            None => out.push(message),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Value;
    use serde_json::json;

    fn messages(list: Value) -> Vec<Message> {
        list.as_array().unwrap().iter().cloned().filter_map(Message::from_value).collect()
    }

    #[test]
    fn joined_user_turns_keep_every_word() {
        let joined = join_user_turns(messages(json!([
            {"role": "user", "content": "one", "timestamp": 5},
            {"role": "user", "content": [{"type": "text", "text": "two"}]},
            {"role": "assistant", "content": []},
            {"role": "user", "content": "three"},
        ])));
        let expected = messages(json!([
            {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "timestamp": 5},
            {"role": "assistant", "content": []},
            {"role": "user", "content": "three"},
        ]));
        assert_eq!(joined, expected);
    }

    #[test]
    fn joined_answers_end_like_the_later_one() {
        let joined = join_assistant_turns(messages(json!([
            {"role": "assistant", "content": [1], "model": "m", "stopReason": "stop"},
            {"role": "assistant", "content": [2], "model": "n", "stopReason": "error", "errorMessage": "e"},
        ])));
        let expected = json!([
            {"role": "assistant", "content": [1, 2], "model": "m", "stopReason": "error", "errorMessage": "e"},
        ]);
        assert_eq!(joined, messages(expected));
    }
}
