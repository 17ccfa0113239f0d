//! How many tokens messages take, by estimate and by what the provider reported (`transcripts.md` §6.1).

use crate::json::{self, Value};
use crate::message::{Block, Content, Message, Role};
use crate::text;
use crate::transcript::entry::{Entry, EntryKind};

/// What an image in a tool result or a custom message counts, in characters.
const IMAGE_CHARS: usize = 4800;

/// The tokens of one message at four characters a token, rounded up.
pub fn estimate(message: &Message) -> u64 {
    let chars = match message.role() {
        Role::User => text_chars(message.content(), 0),
        Role::Assistant => message.blocks().iter().map(assistant_block_chars).sum(),
        Role::Custom | Role::ToolResult => text_chars(message.content(), IMAGE_CHARS),
        Role::BashExecution => field_chars(message, "command") + field_chars(message, "output"),
        Role::BranchSummary | Role::CompactionSummary => field_chars(message, "summary"),
        Role::Other => 0,
    };
    chars.div_ceil(4) as u64
}

/// The estimates of all `messages` together.
pub fn estimate_all(messages: &[Message]) -> u64 {
    messages.iter().map(estimate).sum()
}

fn text_chars(content: Content<'_>, image_chars: usize) -> usize {
    match content {
        Content::Text(text) => text::units(text),
        Content::Blocks(blocks) => blocks
            .iter()
            .map(|block| match Block::of(block) {
                Block::Text(text) => text::units(text),
                Block::Image => image_chars,
                Block::Thinking { .. } | Block::ToolCall(_) | Block::Other => 0,
            })
            .sum(),
        Content::Missing => 0,
    }
}

fn assistant_block_chars(block: &Value) -> usize {
    match Block::of(block) {
        Block::Text(text) | Block::Thinking { text, .. } => text::units(text),
        Block::ToolCall(call) => {
            let arguments = call.arguments.map_or(0, |arguments| text::units(&json::stringify(arguments)));
            call.name.map_or(0, text::units) + arguments
        }
        Block::Image | Block::Other => 0,
    }
}

fn field_chars(message: &Message, field: &str) -> usize {
    message.text_field(field).map_or(0, text::units)
}

/// The context size that a provider's `usage` reports: its total, else the sum of the components.
///
/// A component that is missing counts as nothing, so that lines written without cache numbers do not
/// poison the sum (`transcripts.md` §9).
pub fn context_tokens(usage: &Value) -> f64 {
    let number = |field: &str| usage.get(field).and_then(Value::as_f64).unwrap_or(0.0);
    let total = number("totalTokens");
    if total != 0.0 {
        return total;
    }
    number("input") + number("output") + number("cacheRead") + number("cacheWrite")
}

/// How full the context is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContextEstimate {
    /// What the provider last reported.
    pub reported: f64,
    /// The estimate for what came after that report.
    pub trailing: u64,
    /// The message that carried the report.
    pub reported_at: Option<usize>,
}

impl ContextEstimate {
    pub fn tokens(&self) -> f64 {
        self.reported + self.trailing as f64
    }
}

/// The last report of a provider plus estimates for every message after it.
pub fn estimate_context(messages: &[Message]) -> ContextEstimate {
    let reported_at = messages.iter().rposition(|message| usage_of(message).is_some());
    let reported = reported_at.and_then(|at| usage_of(&messages[at])).map_or(0.0, context_tokens);
    let after = reported_at.map_or(0, |at| at + 1);
    ContextEstimate { reported, trailing: estimate_all(&messages[after..]), reported_at }
}

/// The usage that an answer reports, if it is one to rely on.
pub fn reported_usage(entry: &Entry) -> Option<Value> {
    if entry.kind() != EntryKind::Message || entry.role() != Some(Role::Assistant) {
        return None;
    }
    usage_of(&entry.message()?).cloned()
}

/// The usage of an assistant message; aborted and failed runs report nothing to rely on.
fn usage_of(message: &Message) -> Option<&Value> {
    let is_answer =
        message.role() == Role::Assistant && !matches!(message.stop_reason(), Some("aborted" | "error"));
    message.get("usage").filter(|usage| is_answer && json::truthy(usage))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(value: Value) -> Message {
        Message::from_value(value).unwrap()
    }

    #[test]
    fn four_characters_are_a_token() {
        let image = json!({"type": "image", "data": "x", "mimeType": "image/png"});
        let table = [
            (json!({"role": "user", "content": "hello"}), 2),
            (json!({"role": "user", "content": [{"type": "text", "text": "abcde"}, image]}), 2),
            (json!({"role": "user", "content": null}), 0),
            (json!({"role": "toolResult", "content": [image]}), 1200),
            (
                json!({"role": "assistant", "content": [{"type": "toolCall", "name": "ls", "arguments": {}}]}),
                1,
            ),
            (json!({"role": "assistant", "content": [{"type": "toolCall"}, null, 4]}), 0),
            (json!({"role": "bashExecution", "command": "ls -la", "output": "file\nfile2"}), 4),
            (json!({"role": "system", "content": "zzzz"}), 0),
        ];
        for (value, tokens) in table {
            assert_eq!(estimate(&message(value.clone())), tokens, "{value}");
        }
    }

    #[test]
    fn missing_components_of_a_usage_count_as_nothing() {
        let table = [
            (json!({"input": 10, "output": 5, "totalTokens": 120}), 120.0),
            (json!({"input": 10, "output": 5, "cacheRead": 100, "cacheWrite": 7, "totalTokens": 0}), 122.0),
            (json!({"input": 1, "output": 2}), 3.0),
            (json!({}), 0.0),
        ];
        for (usage, tokens) in table {
            assert_eq!(context_tokens(&usage), tokens, "{usage}");
        }
    }

    #[test]
    fn a_failed_run_reports_nothing() {
        let messages = [
            message(json!({"role": "assistant", "content": [], "usage": {"totalTokens": 50}})),
            message(json!({"role": "user", "content": "abcd"})),
            message(
                json!({"role": "assistant", "content": [], "usage": {"totalTokens": 9}, "stopReason": "error"}),
            ),
        ];
        let estimate = estimate_context(&messages);
        assert_eq!((estimate.tokens(), estimate.reported_at), (51.0, Some(0)));
    }
}
