//! Repairing a history: every call gets its input, its result and an id that the provider takes, and
//! turns alternate (`transcripts.md` §8).
//!
//! All of it happens on the way to a provider; the transcript stays as it is.

pub mod ids;
pub mod inputs;
pub mod pairing;
pub mod turns;

use crate::json::Value;
use crate::message::Message;

/// Whether a block is a tool call, in any of the spellings that transcripts hold.
pub(crate) fn is_call(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    matches!(kind, Some("toolCall" | "toolUse" | "functionCall"))
}

/// The id of a call block; one without cannot be answered.
pub(crate) fn call_id(block: &Value) -> Option<&str> {
    block.get("id").and_then(Value::as_str).filter(|id| is_call(block) && !id.is_empty())
}

/// The id of the call that a tool result answers.
pub fn answered_id(result: &Message) -> Option<&str> {
    let id = |field: &str| result.text_field(field).filter(|id| !id.is_empty());
    id("toolCallId").or_else(|| id("toolUseId"))
}
