//! The memory flush: what a user said about themselves is written down before it is compacted away.
//!
//! Today's notes are looked at first, so that nothing is written twice.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::message::{Block, Message, Role};
use yabby_domain::seam::model::ModelRequest;
use yabby_domain::text;

use super::facts::facts;
use super::turn::{Outcome, Turn, arguments, note, note_file};
use super::{Call, Move, pattern, prompt, quote, reply, today};

/// One flush writes no more lines.
const MOST_NOTES: usize = 40;

pub(super) fn next(request: &ModelRequest) -> Move {
    let asked = request.messages.iter().rposition(|message| message.role() == Role::User).unwrap_or(0);
    let (talk, flush) = request.messages.split_at(asked);
    let turn = Turn::of(flush);
    if let Some(made) = turn.calls.iter().find(|made| made.tool == "write") {
        return Move::Say(match &made.outcome {
            Outcome::Failed(why) => {
                format!("I could not write down what to remember: {}", quote::inline(why, 300))
            }
            Outcome::Done(_) | Outcome::Interrupted => reply::SILENCE.to_owned(),
        });
    }
    let known = plain(&known(request));
    let mut notes: Vec<String> = Vec::new();
    for part in talk.iter().filter(|message| message.role() == Role::User).flat_map(prompt::parts) {
        for (_, fact) in facts(&part.text) {
            let line = note(&fact, part.from.as_deref());
            if !known.contains(&plain(&fact)) && !notes.contains(&line) {
                notes.push(line);
            }
        }
    }
    // Where there are too many, the latest count.
    notes.drain(..notes.len().saturating_sub(MOST_NOTES));
    let offers = |tool: &str| request.tools.iter().any(|offered| offered.name == tool);
    if notes.is_empty() || !offers("write") {
        return Move::Say(reply::SILENCE.to_owned());
    }
    let path = note_file(date(request, flush).as_deref());
    if turn.calls.is_empty() && offers("memory_get") {
        let mut files = vec!["MEMORY.md".to_owned(), path];
        files.dedup();
        let look = |path: String| Call { tool: "memory_get", arguments: arguments(json!({"path": path})) };
        return Move::Call(files.into_iter().map(look).collect());
    }
    let content = notes.join("\n") + "\n";
    let call = arguments(json!({"path": path, "content": content, "mode": "append"}));
    Move::Call(vec![Call { tool: "write", arguments: call }])
}

/// The day that the prompt of the flush names, else today.
fn date(request: &ModelRequest, flush: &[Message]) -> Option<String> {
    static NOTE: LazyLock<Regex> = LazyLock::new(|| pattern(r"memory/([0-9]{4}-[0-9]{2}-[0-9]{2})\.md"));
    let prompt = flush.first().map(|message| prompt::texts(message).join("\n")).unwrap_or_default();
    let named = NOTE.captures(&prompt).map(|named| named[1].to_owned());
    named.or_else(|| today::date(request))
}

/// Everything that the memory is known to hold: what the system prompt shows of it, what was written,
/// and what tools read.
fn known(request: &ModelRequest) -> String {
    let mut known = request.system.clone();
    for message in &request.messages {
        let written = message.blocks().iter().filter_map(|block| match Block::of(block) {
            Block::ToolCall(call) if call.name == Some("write") => {
                call.arguments.and_then(|arguments| arguments.get("content")).and_then(Value::as_str)
            }
            _ => None,
        });
        let read = if message.role() == Role::ToolResult { prompt::texts(message) } else { Vec::new() };
        for text in written.chain(read) {
            known.push('\n');
            known.push_str(text);
        }
    }
    known
}

/// Letters and digits alone, for comparing.
fn plain(words: &str) -> String {
    let bare: String =
        text::lower(words).chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    text::trim(&text::collapse_spaces(&bare)).to_owned()
}
