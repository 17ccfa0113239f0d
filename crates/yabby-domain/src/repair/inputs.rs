//! Calls without input are dropped: they come from streams that broke off (`transcripts.md` §8).

use super::is_call;
use crate::json::Value;
use crate::message::{Content, Message, Role};

/// The messages after the repair, and what it took.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairedInputs {
    pub messages: Vec<Message>,
    pub dropped_calls: usize,
    /// Messages that held nothing but such calls.
    pub dropped_messages: usize,
}

/// Drops every call block with neither `input` nor `arguments`.
pub fn drop_calls_without_input(messages: Vec<Message>) -> RepairedInputs {
    let mut repaired = RepairedInputs {
        messages: Vec::with_capacity(messages.len()),
        dropped_calls: 0,
        dropped_messages: 0,
    };
    for mut message in messages {
        let Some(kept) = complete_blocks(&message) else {
            repaired.messages.push(message);
            continue;
        };
        repaired.dropped_calls += message.blocks().len() - kept.len();
        if kept.is_empty() {
            repaired.dropped_messages += 1;
        } else {
            message.set("content", kept);
            repaired.messages.push(message);
        }
    }
    repaired
}

/// The blocks to keep, if some have to go.
fn complete_blocks(message: &Message) -> Option<Vec<Value>> {
    let Content::Blocks(blocks) = message.content() else {
        return None;
    };
    let is_complete = |block: &&Value| !is_call(block) || has_input(block);
    let has_gaps = message.role() == Role::Assistant && !blocks.iter().all(|block| is_complete(&block));
    has_gaps.then(|| blocks.iter().filter(is_complete).cloned().collect())
}

fn has_input(call: &Value) -> bool {
    ["input", "arguments"].iter().any(|field| call.get(field).is_some_and(|input| !input.is_null()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_of_nothing_but_broken_calls_goes_altogether() {
        let broken = json!({"type": "toolCall", "id": "a", "name": "x", "arguments": null});
        let text = json!({"type": "text", "text": "t"});
        let fine = json!({"type": "toolUse", "id": "a", "input": false});
        //  content                 calls  messages  left
        let table = [
            (json!([broken, text]), 1, 0, Some(json!([text]))),
            (json!([broken, broken]), 2, 1, None),
            (json!([fine]), 0, 0, Some(json!([fine]))),
            (json!([]), 0, 0, Some(json!([]))),
            (json!("text"), 0, 0, Some(json!("text"))),
        ];
        for (content, calls, gone, left) in table {
            let message = Message::from_value(json!({"role": "assistant", "content": content})).unwrap();
            let repaired = drop_calls_without_input(vec![message]);
            assert_eq!((repaired.dropped_calls, repaired.dropped_messages), (calls, gone), "{content}");
            assert_eq!(repaired.messages.first().and_then(|message| message.get("content")), left.as_ref());
        }
    }
}
