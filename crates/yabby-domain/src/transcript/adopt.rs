//! A transcript of another program of the family as OpenClaw would have written it
//! (`transcripts.md` §1; the seed documents).
//!
//! The same lines always become the same lines, so a file that has only grown since it was last taken
//! over begins with what was made of it then.

use super::entry::{Entry, EntryKind};
use super::header::{Header, NewSession};
use super::tree::Transcript;
use super::{seed, time};
use crate::json::{self, Object, Value};
use crate::message::{Content, Message, Role, text_block};

/// What the source does not say about itself.
#[derive(Clone, Copy, Debug)]
pub struct Adoption<'a> {
    pub session_id: &'a str,
    pub cwd: &'a str,
    /// Whom answers came from, where no line says so.
    pub provider: &'a str,
    pub model: &'a str,
}

/// The lines of a whole file. A source without a header is read as if it had one.
pub fn adopted(source: &str, adoption: &Adoption<'_>) -> String {
    let transcript = Transcript::read(source).or_else(|| {
        // Version 1: the lines are a list.
        let header = r#"{"type":"session","version":1,"id":"none"}"#;
        Transcript::read(&format!("{header}\n{source}"))
    });
    let Some(transcript) = transcript else { return String::new() };
    let began = transcript.header().object().get("timestamp").and_then(time::of_value);
    let began = began.or_else(|| transcript.entries().iter().find_map(Entry::time));
    let session = NewSession { id: adoption.session_id, cwd: adoption.cwd, parent: None };
    let mut text = Header::new(session, moment(began)).line() + "\n";
    let mut messages: Vec<&str> = Vec::new();
    for entry in transcript.entries() {
        let object = adopted_entry(entry, &messages, adoption);
        text.push_str(&json::stringify_object(&object));
        text.push('\n');
        if entry.kind() == EntryKind::Message {
            messages.extend(entry.id());
        }
    }
    text
}

fn moment(ms: Option<f64>) -> jiff::Timestamp {
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and is then out of range")]
    jiff::Timestamp::from_millisecond(ms.unwrap_or(0.0) as i64).unwrap_or_default()
}

/// One entry; `messages` are the ids of those before it.
fn adopted_entry(entry: &Entry, messages: &[&str], adoption: &Adoption<'_>) -> Object {
    let mut object = match json::parse(&entry.portable_line()) {
        Ok(Value::Object(object)) => object,
        _ => Object::new(),
    };
    if !object.get("timestamp").is_some_and(Value::is_string) {
        object.insert("timestamp".into(), time::iso(moment(entry.time())).into());
    }
    match entry.kind() {
        EntryKind::Message => {
            if let Some(message) = entry.message() {
                let message = adopted_message(message, entry.time(), adoption);
                object.insert("message".into(), message.into_value());
                object.shift_remove("usage");
            }
        }
        EntryKind::ModelChange => {
            let (provider, model) = seed::model_of(&object);
            object.insert("provider".into(), provider.unwrap_or_else(|| adoption.provider.to_owned()).into());
            object.insert("modelId".into(), model.unwrap_or_else(|| adoption.model.to_owned()).into());
            object.shift_remove("model");
        }
        EntryKind::ThinkingLevelChange => rename(&mut object, "level", "thinkingLevel"),
        EntryKind::Custom => {
            rename(&mut object, "key", "customType");
            rename(&mut object, "value", "data");
        }
        EntryKind::Compaction if !object.contains_key("firstKeptEntryId") => {
            let removed = seed::removed_count(&object).unwrap_or(usize::MAX);
            let kept = messages.get(removed).copied().or(entry.id()).unwrap_or_default();
            object.insert("firstKeptEntryId".into(), kept.into());
            object.entry("tokensBefore").or_insert_with(|| 0.into());
        }
        _ => {}
    }
    object
}

fn rename(object: &mut Object, from: &str, to: &str) {
    if !object.contains_key(to)
        && let Some(value) = object.shift_remove(from)
    {
        object.insert(to.into(), value);
    }
}

/// A message with all that OpenClaw counts on in one.
fn adopted_message(message: Message, time: Option<f64>, adoption: &Adoption<'_>) -> Message {
    let mut message = seed::in_our_spelling(message);
    if message.role() == Role::Assistant {
        if let Content::Text(text) = message.content() {
            let blocks = if text.is_empty() { Vec::new() } else { vec![text_block(text)] };
            message.set("content", blocks);
        }
        let zero = || Value::from(0);
        let mut cost = Object::new();
        let mut usage = Object::new();
        for part in ["input", "output", "cacheRead", "cacheWrite"] {
            cost.insert(part.into(), zero());
            usage.insert(part.into(), zero());
        }
        cost.insert("total".into(), zero());
        usage.insert("totalTokens".into(), zero());
        usage.insert("cost".into(), cost.into());
        let defaults = [
            ("api", Value::from("imported")),
            ("provider", adoption.provider.into()),
            ("model", adoption.model.into()),
            ("usage", usage.into()),
            ("stopReason", "stop".into()),
        ];
        for (field, value) in defaults {
            if message.get(field).is_none_or(Value::is_null) {
                message.set(field, value);
            }
        }
    }
    if !message.get("timestamp").is_some_and(Value::is_number) {
        message.set("timestamp", json::number(time.unwrap_or(0.0)));
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::Stamp;
    use crate::transcript::context::for_model;
    use crate::transcript::file::{OnOpen, TranscriptFile};

    const ADOPTION: Adoption<'_> =
        Adoption { session_id: "s", cwd: "/w", provider: "anthropic", model: "claude" };

    const SEEDS: [&str; 5] = [
        include_str!("../../tests/fixtures/seed-000.jsonl"),
        include_str!("../../tests/fixtures/seed-001.jsonl"),
        include_str!("../../tests/fixtures/seed-002.jsonl"),
        include_str!("../../tests/fixtures/seed-003.jsonl"),
        include_str!("../../tests/fixtures/seed-004.jsonl"),
    ];

    /// Who says what, by the context of a transcript.
    fn told(text: &str) -> Vec<String> {
        let context = Transcript::read(text).expect("a header").context();
        let messages = for_model(context.messages);
        let text = |message: &Message| match message.content() {
            Content::Text(text) => text.to_owned(),
            Content::Blocks(blocks) => blocks.iter().map(json::stringify).collect(),
            Content::Missing => String::new(),
        };
        let plain = |text: String| text.replace(r#"{"type":"text","text":""#, "").replace(r#""}"#, "");
        messages.iter().map(|message| format!("{:?} {}", message.role(), plain(text(message)))).collect()
    }

    #[test]
    fn the_model_is_told_what_it_was_told() {
        for source in SEEDS {
            assert_eq!(told(&adopted(source, &ADOPTION)), told(source), "{source}");
        }
    }

    #[test]
    fn what_is_made_needs_no_further_change() {
        for source in SEEDS {
            let text = adopted(source, &ADOPTION);
            let mut fresh_id = || "none".to_owned();
            let mut stamp = Stamp { now: jiff::Timestamp::UNIX_EPOCH, fresh_id: &mut fresh_id };
            let (_, action) = TranscriptFile::open(Some(&text), "/w", &mut stamp);
            assert_eq!(action, OnOpen::Nothing, "{text}");
        }
    }

    #[test]
    fn a_file_that_grew_begins_as_before() {
        for source in SEEDS {
            let whole = adopted(source, &ADOPTION);
            let lines: Vec<&str> = source.lines().collect();
            for count in 1..lines.len() {
                let part = adopted(&(lines[..count].join("\n") + "\n"), &ADOPTION);
                assert!(whole.starts_with(&part), "{count} lines of {source}");
            }
        }
    }

    #[test]
    fn lines_without_a_header_are_taken_in_order() {
        let lines = [
            r#"{"type":"message","timestamp":"2026-01-31T14:00:01.000Z","message":{"role":"user","content":"a"}}"#,
            r#"{"type":"message","timestamp":"2026-01-31T14:00:02.000Z","message":{"role":"assistant","content":"b"}}"#,
        ];
        let text = adopted(&lines.join("\n"), &ADOPTION);
        assert_eq!(told(&text), ["User a", "Assistant b"]);
        assert!(
            text.starts_with(
                r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-31T14:00:01.000Z""#
            )
        );
    }
}
