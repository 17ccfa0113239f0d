//! Looking into a transcript without building its tree (`transcripts.md` §7.7).
//!
//! These readers serve lists of many sessions, so they look at a few kilobytes at the start or the
//! end of a file, where a line may be cut; a cut line is just not one.

use std::borrow::Cow;

use super::envelope::strip_envelope;
use crate::json::{self, Value};
use crate::message::Message;
use crate::recollection::without_memories;
use crate::text;

/// How many sessions one request may preview.
pub const MAX_SESSIONS: usize = 64;

/// How much of the start of a file [`first_user_message`] looks at.
pub const FIRST_BYTES: usize = 8192;
const FIRST_LINES: usize = 10;

/// How much of the end of a file [`last_message`] looks at.
pub const LAST_BYTES: usize = 16_384;
const LAST_LINES: usize = 20;

/// How much of the end of a file [`preview_items`] looks at, one after the other until it finds
/// something.
pub const WINDOWS: [usize; 3] = [65_536, 262_144, 1_048_576];
const WINDOW_LINES: usize = 200;

/// The messages of all lines, of every branch, in file order.
pub fn messages(file: &str) -> Vec<Message> {
    lines(file).filter_map(message_on).collect()
}

/// The messages of the branch that a file ends with, in its order; `end` is the end of the file, from the beginning
/// of a line on. Of a branch that was left nothing is told. A line that names no parent goes on from the one before
/// it, as other programs write them.
pub fn branch_messages(end: &str) -> Vec<Message> {
    let mut branch: Vec<Message> = Vec::new();
    // The entry that the branch goes on from, further up; `None` as long as whatever comes next belongs to it.
    let mut wanted: Option<Value> = None;
    for line in lines(end).rev() {
        let Ok(Value::Object(mut entry)) = json::parse(line) else { continue };
        if entry.get("type").is_some_and(|kind| kind == "session") {
            continue;
        }
        if wanted.is_some() && entry.get("id") != wanted.as_ref() {
            continue;
        }
        wanted = entry.swap_remove("parentId");
        branch.extend(entry.swap_remove("message").and_then(Message::from_value));
        if wanted.as_ref().is_some_and(Value::is_null) {
            break;
        }
    }
    branch.reverse();
    branch
}

/// What the user said first: where the title of a session comes from.
pub fn first_user_message(file: &[u8]) -> Option<String> {
    let start = String::from_utf8_lossy(file.get(..FIRST_BYTES).unwrap_or(file));
    let messages = lines(&start).take(FIRST_LINES).filter_map(message_on);
    messages
        .filter(|message| message.text_field("role") == Some("user"))
        .find_map(|message| first_text(&message))
}

/// What was said last, by the user or to the user.
pub fn last_message(file: &[u8]) -> Option<String> {
    let tail = String::from_utf8_lossy(tail(file, LAST_BYTES));
    let latest = lines(&tail).rev().filter(|line| !text::trim(line).is_empty()).take(LAST_LINES);
    latest
        .filter_map(message_on)
        .filter(|message| matches!(message.text_field("role"), Some("user" | "assistant")))
        .find_map(|message| first_text(&message))
}

/// How many lines a preview has, and how long they may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreviewLimits {
    items: usize,
    units: usize,
}

impl PreviewLimits {
    /// Within what is sensible, whatever was asked for.
    pub fn new(items: usize, units: usize) -> Self {
        Self { items: items.clamp(1, 50), units: units.clamp(20, 2000) }
    }
}

impl Default for PreviewLimits {
    fn default() -> Self {
        Self::new(12, 240)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewItem {
    pub role: PreviewRole,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreviewRole {
    User,
    Assistant,
    System,
    Tool,
    Other,
}

impl PreviewRole {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Tool => "tool",
            Self::Other => "other",
        }
    }

    fn of(message: &Message) -> Self {
        if calls_a_tool(message) {
            return Self::Tool;
        }
        match text::lower(message.text_field("role").unwrap_or_default()).as_str() {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "system" => Self::System,
            "tool" => Self::Tool,
            _ => Self::Other,
        }
    }
}

/// The last messages of a file in a few words each. `tail` reads that many bytes from its end.
pub fn preview_items<'f>(tail: impl Fn(usize) -> Cow<'f, [u8]>, limits: PreviewLimits) -> Vec<PreviewItem> {
    let recent = WINDOWS.iter().map(|bytes| recent_messages(&tail(*bytes), limits.items));
    let messages = recent.into_iter().find(|messages| !messages.is_empty()).unwrap_or_default();
    messages.iter().filter_map(|message| preview_of(message, limits.units)).collect()
}

/// The end of a file that is in memory.
pub fn tail(file: &[u8], bytes: usize) -> &[u8] {
    &file[file.len().saturating_sub(bytes)..]
}

fn recent_messages(window: &[u8], count: usize) -> Vec<Message> {
    let window = String::from_utf8_lossy(window);
    let latest = lines(&window).rev().filter(|line| !text::trim(line).is_empty()).take(WINDOW_LINES);
    let mut messages: Vec<Message> = latest.filter_map(message_on).take(count).collect();
    messages.reverse();
    messages
}

fn preview_of(message: &Message, units: usize) -> Option<PreviewItem> {
    let role = PreviewRole::of(message);
    let text = shown_text(message).or_else(|| called_tools(message)).or_else(|| other_block(message))?;
    let text = text::trim(&text);
    if text.is_empty() {
        return None;
    }
    let text = if role == PreviewRole::User { strip_envelope(without_memories(text)) } else { text };
    Some(PreviewItem { role, text: shortened(text, units) })
}

/// Over the limit: three units less, and three dots.
fn shortened(text: &str, units: usize) -> String {
    if text::units(text) <= units {
        return text.to_owned();
    }
    format!("{}...", text::head(text, units.saturating_sub(3)))
}

fn shown_text(message: &Message) -> Option<String> {
    let of_field = |field| message.text_field(field).and_then(text::non_blank).map(str::to_owned);
    match message.get("content") {
        Some(Value::String(_)) => return of_field("content"),
        Some(Value::Array(blocks)) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            let texts: Vec<&str> = texts.filter(|text| !text::trim(text).is_empty()).collect();
            if !texts.is_empty() {
                return Some(text::trim(&texts.join("\n")).to_owned());
            }
        }
        _ => {}
    }
    of_field("text")
}

/// `call read, write +1`
fn called_tools(message: &Message) -> Option<String> {
    const SHOWN: usize = 2;
    let of_blocks = message.blocks().iter().filter_map(|block| block.get("name")?.as_str());
    let of_message = message.text_field("toolName").or_else(|| message.text_field("tool_name"));
    let names: Vec<&str> = of_blocks.chain(of_message).filter_map(text::non_blank).collect();
    if names.is_empty() {
        return None;
    }
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    Some(match names.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        Some(more) => format!("call {shown} +{more}"),
        None => format!("call {shown}"),
    })
}

/// `[image]`
fn other_block(message: &Message) -> Option<String> {
    let kinds =
        message.blocks().iter().filter_map(|block| text::lower_non_blank(block.get("type")?.as_str()?));
    kinds.filter(|kind| kind != "text" && !is_tool_call(kind)).map(|kind| format!("[{kind}]")).next()
}

fn calls_a_tool(message: &Message) -> bool {
    let names_a_tool = |field| message.get(field).is_some_and(json::truthy);
    let is_call = |block: &Value| {
        block.get("name").is_some_and(json::truthy)
            || block.get("type").and_then(Value::as_str).is_some_and(|kind| is_tool_call(&text::lower(kind)))
    };
    names_a_tool("toolName") || names_a_tool("tool_name") || message.blocks().iter().any(is_call)
}

fn is_tool_call(kind: &str) -> bool {
    matches!(kind, "toolcall" | "tool_call")
}

/// The first text of a message, trimmed.
fn first_text(message: &Message) -> Option<String> {
    let is_from_user = message.text_field("role") == Some("user");
    let words = |text: &'_ str| {
        let words = if is_from_user { without_memories(text) } else { text };
        text::non_blank(words).map(str::to_owned)
    };
    match message.get("content")? {
        Value::String(text) => words(text),
        Value::Array(blocks) => blocks.iter().find_map(|block| {
            let text = block.get("text")?.as_str().and_then(words)?;
            let kind = block.get("type")?.as_str()?;
            matches!(kind, "text" | "output_text" | "input_text").then_some(text)
        }),
        _ => None,
    }
}

fn lines(file: &str) -> impl DoubleEndedIterator<Item = &str> {
    file.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line))
}

fn message_on(line: &str) -> Option<Message> {
    match json::parse(line).ok()? {
        Value::Object(mut line) => Message::from_value(line.swap_remove("message")?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(messages: &[&str]) -> String {
        messages.iter().map(|message| format!("{{\"message\":{message}}}\n")).collect()
    }

    #[test]
    fn a_branch_that_was_left_is_not_told() {
        let said = |lines: &[&str]| -> Vec<String> {
            let messages = branch_messages(&lines.join("\n"));
            messages.iter().filter_map(|message| message.text_field("content").map(str::to_owned)).collect()
        };
        let line = |id: &str, parent: &str, said: &str| {
            format!(
                r#"{{"type":"message","id":"{id}"{parent},"message":{{"role":"user","content":"{said}"}}}}"#
            )
        };
        let header = r#"{"type":"session","id":"s"}"#.to_owned();
        let one = line("a", r#","parentId":null"#, "one");
        let left = line("b", r#","parentId":"a""#, "left");
        let two = line("c", r#","parentId":"a""#, "two");
        let plain = line("d", "", "no parent");
        let root = line("e", r#","parentId":null"#, "again");
        let table: [(&[&String], &[&str]); 6] = [
            (&[&header, &one, &left], &["one", "left"]),
            (&[&header, &one, &left, &two], &["one", "two"]),
            (&[&header, &one, &left, &plain], &["one", "left", "no parent"]),
            (&[&one, &left, &two, &root], &["again"]),
            // What it goes on from is further up than was read.
            (&[&left, &two], &["two"]),
            (&[&header], &[]),
        ];
        for (lines, expected) in table {
            let lines: Vec<&str> = lines.iter().map(|line| line.as_str()).collect();
            assert_eq!(said(&lines), expected, "{lines:?}");
        }
    }

    fn previewed(messages: &[&str]) -> Vec<String> {
        let file = file(messages);
        let items =
            preview_items(|bytes| Cow::Borrowed(tail(file.as_bytes(), bytes)), PreviewLimits::new(3, 20));
        items.into_iter().map(|item| format!("{}: {}", item.role.as_str(), item.text)).collect()
    }

    #[test]
    fn a_message_is_shown_by_its_text_its_tools_or_its_kind() {
        let table = [
            (r#"{"role":"USER","content":" [Slack x] hi "}"#, "user: hi"),
            (r#"{"role":"system","text":"t","content":null}"#, "system: t"),
            (r#"{"role":"assistant","content":[{"text":"a"},{"text":" "},{"text":"b"}]}"#, "assistant: a\nb"),
            (
                r#"{"role":"assistant","content":[{"name":"a"},{"name":"b"},{"name":"c"}]}"#,
                "tool: call a, b +1",
            ),
            (r#"{"role":"x","tool_name":"grep"}"#, "tool: call grep"),
            (r#"{"role":"user","content":[{"type":"Image"}]}"#, "user: [image]"),
            (r#"{"role":"user","content":"123456789012345678901"}"#, "user: 12345678901234567..."),
        ];
        for (message, shown) in table {
            assert_eq!(previewed(&[message]), [shown], "{message}");
        }
        assert_eq!(previewed(&[r#"{"role":"user","content":" ","text":"not looked at"}"#]), [""; 0]);
    }

    #[test]
    fn only_the_last_messages_count() {
        let messages =
            [r#"{"content":"1"}"#, r#"{"content":"2"}"#, r#"{"content":""}"#, r#"{"content":"4"}"#];
        assert_eq!(previewed(&messages), ["other: 2", "other: 4"]);
    }

    #[test]
    fn first_and_last_words_are_looked_for_near_the_ends() {
        let user = r#"{"role":"user","content":[{"type":"image","text":"x"},{"type":"input_text","text":" first "}]}"#;
        let answer = r#"{"role":"assistant","content":" last "}"#;
        let whole = file(&[user, answer, r#"{"role":"toolResult","content":"later"}"#]);
        assert_eq!(first_user_message(whole.as_bytes()).as_deref(), Some("first"));
        assert_eq!(last_message(whole.as_bytes()).as_deref(), Some("last"));
        let late = format!("{}{whole}", "\n".repeat(10));
        assert_eq!(first_user_message(late.as_bytes()), None);
        let early = format!("{whole}{}", "{}\n".repeat(20));
        assert_eq!(last_message(early.as_bytes()), None);
        assert_eq!(messages(&early).len(), 3);
    }
}
