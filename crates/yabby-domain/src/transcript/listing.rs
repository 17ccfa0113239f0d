//! What a list of sessions shows of each file (`transcripts.md` §2.3).

use super::entry::{Entry, EntryKind};
use super::time;
use crate::json::{self, Object, Value};
use crate::message::{Content, Message, Role};
use crate::text;

const NO_MESSAGES: &str = "(no messages)";

#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// The first line; what it calls the session, and where it works.
    pub header: Object,
    pub name: Option<String>,
    /// Epoch milliseconds of the header.
    pub created: Option<f64>,
    /// When the user or the assistant last said something, else `created`; if there is neither, the
    /// time of the file counts.
    pub modified: Option<f64>,
    pub message_count: usize,
    pub first_message: String,
    /// All that the user and the assistant said, for searching.
    pub all_text: String,
}

/// The listing of a file; `None` if it does not begin with a session line.
pub fn listing(file: &str) -> Option<Listing> {
    let mut entries = text::trim(file).split('\n').filter_map(Entry::parse);
    let first = entries.next().filter(|entry| entry.kind() == EntryKind::Session)?;
    let header = first.object();
    let created = header.get("timestamp").and_then(time::of_value);
    let mut told = Told::default();
    for entry in entries {
        match entry.kind() {
            EntryKind::SessionInfo => told.rename(&entry),
            EntryKind::Message => told.hear(&entry),
            _ => {}
        }
    }
    let stated = header.get("timestamp").filter(|stated| stated.is_string()).and(created);
    Some(Listing {
        header,
        name: told.name,
        created,
        modified: told.last_active.filter(|time| *time > 0.0).or(stated),
        message_count: told.messages,
        first_message: told.first_message.unwrap_or_else(|| NO_MESSAGES.to_owned()),
        all_text: told.texts.join(" "),
    })
}

/// When somebody last said something in a file, whatever it begins with; else the time of its last line.
pub fn last_said(file: &str) -> Option<f64> {
    let entries = text::trim(file).split('\n').filter_map(Entry::parse);
    let times = entries.filter_map(|entry| {
        let said = entry.message().and_then(|message| message.get("timestamp").and_then(Value::as_f64));
        said.or(entry.time())
    });
    times.filter(|time| *time > 0.0).reduce(f64::max)
}

/// Whether a file holds anything that somebody said.
pub fn holds_messages(file: &str) -> bool {
    let mut entries = text::trim(file).split('\n').filter_map(Entry::parse);
    entries.any(|entry| matches!(entry.kind(), EntryKind::Message | EntryKind::CustomMessage))
}

#[derive(Default)]
struct Told {
    name: Option<String>,
    messages: usize,
    first_message: Option<String>,
    texts: Vec<String>,
    last_active: Option<f64>,
}

impl Told {
    fn rename(&mut self, info: &Entry) {
        let info = info.object();
        if let Some(name) = info.get("name").filter(|name| json::truthy(name)).and_then(Value::as_str) {
            self.name = Some(text::trim(name).to_owned());
        }
    }

    fn hear(&mut self, entry: &Entry) {
        self.messages += 1;
        let said = matches!(entry.role(), Some(Role::User | Role::Assistant));
        let Some(message) = entry.message().filter(|message| said && message.get("content").is_some()) else {
            return;
        };
        let time = message.get("timestamp").and_then(Value::as_f64).or_else(|| stated_time(entry));
        if let Some(time) = time {
            self.last_active = Some(self.last_active.map_or(time.max(0.0), |last| last.max(time)));
        }
        let words = words(&message);
        if words.is_empty() {
            return;
        }
        if self.first_message.is_none() && message.role() == Role::User {
            self.first_message = Some(words.clone());
        }
        self.texts.push(words);
    }
}

/// The time of the entry, if it is written as text.
fn stated_time(entry: &Entry) -> Option<f64> {
    time::parse(entry.object().get("timestamp")?.as_str()?)
}

/// The text of a message; text blocks are joined with a space.
fn words(message: &Message) -> String {
    match message.content() {
        Content::Text(text) => text.to_owned(),
        Content::Blocks(blocks) => {
            let texts =
                blocks.iter().filter(|block| block.get("type").and_then(Value::as_str) == Some("text"));
            let texts: Vec<&str> =
                texts.map(|block| block.get("text").and_then(Value::as_str).unwrap_or_default()).collect();
            texts.join(" ")
        }
        Content::Missing => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_listed_with_its_first_words_and_last_activity() {
        let file = concat!(
            r#"{"type":"session","id":7,"timestamp":"2026-01-15T09:30:00Z","cwd":"/w"}"#,
            "\n",
            r#"{"type":"session_info","name":" First "}"#,
            "\n",
            r#"{"type":"message","message":{"role":"assistant","content":"welcome"}}"#,
            "\n",
            r#"{"type":"message","timestamp":"2026-01-15T09:31:00Z","message":{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}}"#,
            "\n",
            r#"{"type":"message","message":{"role":"toolResult","content":"x","timestamp":9e15}}"#,
            "\n",
            "null\n",
            r#"{"type":"session_info","name":""}"#,
        );
        let listed = listing(file).expect("a session");
        assert_eq!(listed.name.as_deref(), Some("First"));
        assert_eq!(listed.message_count, 3);
        assert_eq!(listed.first_message, "a b");
        assert_eq!(listed.all_text, "welcome a b");
        assert_eq!((listed.created, listed.modified), (Some(1_768_469_400_000.0), Some(1_768_469_460_000.0)));
    }

    #[test]
    fn what_was_said_last_is_known_without_a_header() {
        let said = |time: f64| {
            format!("{{\"type\":\"message\",\"message\":{{\"role\":\"user\",\"timestamp\":{time}}}}}\n")
        };
        let info = r#"{"type":"session_info","timestamp":"1970-01-01T00:00:00.005Z"}"#;
        let table = [
            (format!("{}{}garbage\n", said(9.0), said(7.0)), Some(9.0), true),
            (format!("{info}\n"), Some(5.0), false),
            (String::new(), None, false),
            (said(0.0), None, true),
        ];
        for (file, time, holds) in table {
            assert_eq!((last_said(&file), holds_messages(&file)), (time, holds), "{file}");
        }
    }

    #[test]
    fn an_empty_session_was_modified_when_it_was_created() {
        let listed = listing(r#"{"type":"session","timestamp":"2026-01-15T09:30:00Z"}"#).expect("a session");
        assert_eq!(listed.first_message, "(no messages)");
        assert_eq!(listed.modified, Some(1_768_469_400_000.0));
        for file in ["", "{}", "[]", r#"{"type":"message"}"#] {
            assert_eq!(listing(file), None, "{file}");
        }
    }
}
