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

/// What a transcript here is to the one that it was, or is about to be, taken over from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinship<'t> {
    /// All of it is here.
    Known,
    /// It was here up to these lines.
    Grown(&'t str),
    /// It was gone on with here, or changed.
    GoneOnHere,
    /// They only have their name in common: some programs call every session `main`.
    Strangers,
}

/// Compares what is here with what [`adopted`] makes of a source now. What the source never said, and was
/// filled in when it was taken over, may have changed since.
pub fn compared<'t>(here: &str, there: &'t str) -> Kinship<'t> {
    if here.starts_with(there) {
        return Kinship::Known;
    }
    if let Some(rest) = there.strip_prefix(here) {
        return Kinship::Grown(rest);
    }
    let lines = |text: &str| text.lines().take(2).map(str::to_owned).collect::<Vec<_>>();
    if are_strangers(&lines(here), &lines(there)) {
        return Kinship::Strangers;
    }
    let mut known = 0;
    let mut lines_there = there.split_inclusive('\n');
    for line in here.lines().filter(|line| !line.trim().is_empty()) {
        match lines_there.next() {
            None => return Kinship::Known,
            Some(other) if is_same(line, other) => known += other.len(),
            Some(_) => return Kinship::GoneOnHere,
        }
    }
    match there.get(known..) {
        None | Some("") => Kinship::Known,
        Some(rest) => Kinship::Grown(rest),
    }
}

/// Whether two conversations began at different times or, if nobody knows when, with other words.
fn are_strangers(here: &[String], there: &[String]) -> bool {
    let began = |lines: &[String]| {
        let header = Header::parse(lines.first()?)?;
        header.object().get("timestamp").and_then(time::of_value)
    };
    match (began(here), began(there)) {
        (Some(here_began), Some(there_began)) if here_began != there_began => true,
        (Some(0.0), Some(0.0)) => match (here.get(1), there.get(1)) {
            (Some(here), Some(there)) => !is_same(here, there),
            _ => false,
        },
        _ => false,
    }
}

/// Whether two lines say the same, but for what [`Adoption`] fills in.
fn is_same(one: &str, other: &str) -> bool {
    let said = |line: &str| {
        let mut line = json::parse(line).ok()?;
        let object = line.as_object_mut()?;
        object.shift_remove("cwd");
        if let Some(message) = object.get_mut("message").and_then(Value::as_object_mut) {
            message.shift_remove("provider");
            message.shift_remove("model");
        }
        Some(line)
    };
    one.trim() == other.trim() || said(one).is_some_and(|one| Some(one) == said(other))
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
    fn a_conversation_is_known_again_by_what_was_said() {
        let began = |time: &str| format!(r#"{{"type":"session","id":"main","timestamp":"{time}"}}"#);
        let said = |role: &str, text: &str| {
            format!(r#"{{"type":"message","message":{{"role":"{role}","content":"{text}"}}}}"#)
        };
        let source = |lines: &[String]| lines.join("\n") + "\n";
        let (hello, hi) = (said("user", "hello"), said("assistant", "hi"));
        let monday = began("2026-01-05T10:00:00.000Z");
        let whole = source(&[monday.clone(), hello.clone(), hi.clone(), said("user", "and now?")]);
        let here = adopted(&source(&[monday.clone(), hello.clone(), hi.clone()]), &ADOPTION);
        // The index of the source names the model of today, and the workspace may have moved.
        let later = Adoption { model: "another", cwd: "/elsewhere", ..ADOPTION };
        let there = adopted(&whole, &later);
        let Kinship::Grown(rest) = compared(&here, &there) else { panic!("it has grown") };
        assert_eq!(told(&format!("{here}{rest}")), ["User hello", "Assistant hi", "User and now?"]);
        let gone_on = adopted(&source(&[monday.clone(), hello.clone(), said("assistant", "ho")]), &ADOPTION);
        let tuesday = [began("2026-01-06T10:00:00.000Z"), hello.clone()];
        let (timeless, other) = (source(std::slice::from_ref(&hello)), source(std::slice::from_ref(&hi)));
        let table = [
            (adopted(&whole, &ADOPTION), adopted(&source(&[monday, hello]), &later), Kinship::Known),
            (gone_on, adopted(&whole, &later), Kinship::GoneOnHere),
            (here, adopted(&source(&tuesday), &ADOPTION), Kinship::Strangers),
            (adopted(&timeless, &ADOPTION), adopted(&other, &ADOPTION), Kinship::Strangers),
            ("garbage\n".to_owned(), adopted(&whole, &ADOPTION), Kinship::GoneOnHere),
        ];
        for (here, there, kinship) in table {
            assert_eq!(compared(&here, &there), kinship, "{here}{there}");
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
