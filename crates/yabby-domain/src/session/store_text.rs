//! The text of `sessions.json`: reading any, writing the reference's (`sessions.md` §6).

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::delivery;
use crate::json::as_written::is_pretty;
use crate::json::{self, Object, Value};
use crate::session::entry::SessionEntry;
use crate::text;

/// Reads a store. Strict JSON or JSON5; anything else is no store, which the caller must not
/// mistake for an empty one when it is about to write.
pub fn parse_store(text: &str) -> Option<Object> {
    match json::parse_json5(text)? {
        Value::Object(mut store) => {
            store.values_mut().filter_map(Value::as_object_mut).for_each(rename_old_fields);
            Some(store)
        }
        _ => None,
    }
}

/// What earlier releases called otherwise.
const OLD_FIELDS: [&str; 3] = ["provider", "lastProvider", "room"];

/// Gives the fields that earlier releases called otherwise their present names.
fn rename_old_fields(entry: &mut Object) {
    rename(entry, "provider", "channel");
    rename(entry, "lastProvider", "lastChannel");
    if !rename(entry, "room", "groupChannel") {
        entry.shift_remove("room");
    }
}

/// Moves a text under its present name, unless that name is taken by a text.
fn rename(entry: &mut Object, old: &str, new: &str) -> bool {
    let taken = entry.get(new).is_some_and(Value::is_string);
    let movable = entry.get(old).is_some_and(Value::is_string);
    if taken || !movable {
        return false;
    }
    if let Some(value) = entry.get(old).cloned() {
        entry.insert(new.to_owned(), value);
        entry.shift_remove(old);
    }
    true
}

/// A store taken apart without parsing its records.
#[derive(Debug)]
pub struct Parts {
    /// What the records are parts of.
    pub text: String,
    /// Each key with the place of its record, in order. Of two equal keys the last record counts.
    pub records: Vec<(Arc<str>, Range<usize>)>,
}

/// Takes a store apart, or says why it is none.
pub fn split_store(text: String) -> Result<Parts, String> {
    let inner = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if let Ok(Members(members)) = serde_json::from_str(inner) {
        // A part of a text begins as far behind its beginning as their addresses are apart.
        let place = |record: &RawValue| {
            let start = record.get().as_ptr().addr() - text.as_ptr().addr();
            start..start + record.get().len()
        };
        let records = members.into_iter().map(|(key, record)| (key.0, place(record))).collect();
        return Ok(Parts { text, records });
    }
    let Some(Value::Object(store)) = json::parse_json5(inner) else { return Err(damage(inner)) };
    let (mut text, mut records) = (String::new(), Vec::new());
    for (key, record) in &store {
        let start = text.len();
        text.push_str(&json::stringify(record));
        records.push((key.as_str().into(), start..text.len()));
    }
    Ok(Parts { text, records })
}

/// The texts of the values of an object, in order.
struct Members<'t>(Vec<(Key, &'t RawValue)>);

struct Key(Arc<str>);

impl<'t> Deserialize<'t> for Members<'t> {
    fn deserialize<D: Deserializer<'t>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'t> Visitor<'t> for MembersVisitor {
    type Value = Members<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of session records")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Members<'t>, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

impl<'t> Deserialize<'t> for Key {
    fn deserialize<D: Deserializer<'t>>(source: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl Visitor<'_> for KeyVisitor {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the key of a session")
            }

            fn visit_str<E>(self, key: &str) -> Result<Key, E> {
                Ok(Key(text::from_outside(key).as_ref().into()))
            }
        }
        source.deserialize_str(KeyVisitor)
    }
}

/// Why a text is no store, with its line.
fn damage(text: &str) -> String {
    match serde_json::from_str::<Members<'_>>(text) {
        Err(error) => error.to_string(),
        Ok(_) => "it is no store".to_owned(),
    }
}

/// The record in a text that [`split_store`] gave; `None` if it is nested too deep to be read.
pub fn read_record(text: &str) -> Option<Value> {
    let mut record = json::parse(text).ok()?;
    if let Some(entry) = record.as_object_mut() {
        rename_old_fields(entry);
    }
    Some(record)
}

/// What only the runs of a session need. It is most of the record.
const OF_RUNS: [&str; 2] = ["skillsSnapshot", "systemPromptReport"];

/// The same without what only runs need, which is skipped.
pub fn read_brief_record(text: &str) -> Option<SessionEntry> {
    match serde_json::from_str(&json::readable(text)) {
        Ok(Brief(mut entry)) => {
            rename_old_fields(&mut entry);
            Some(SessionEntry::new(entry))
        }
        // Something about it is out of the ordinary.
        Err(_) => match read_record(text)? {
            Value::Object(entry) => Some(brief(&SessionEntry::new(entry))),
            _ => None,
        },
    }
}

/// A record without what only runs need.
pub fn brief(entry: &SessionEntry) -> SessionEntry {
    let fields = entry.as_object().iter().filter(|(name, _)| !OF_RUNS.contains(&name.as_str()));
    SessionEntry::new(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
}

struct Brief(Object);

impl<'de> Deserialize<'de> for Brief {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Brief;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a record")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Brief, A::Error> {
                let mut entry = Object::new();
                while let Some(name) = map.next_key::<String>()? {
                    if OF_RUNS.contains(&name.as_str()) {
                        map.next_value::<IgnoredAny>()?;
                    } else {
                        entry.insert(name, map.next_value()?);
                    }
                }
                Ok(Brief(entry))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// The text of a record as it stands in a store.
pub fn record_text(record: &Value) -> String {
    // No text of JSON holds a line feed, so every one of them is between two lines.
    json::stringify_pretty(&written(record)).replace('\n', "\n  ")
}

/// Whether a record that [`split_store`] gave stands there as [`record_text`] writes it. It says no where only reading
/// and writing it would tell.
pub fn is_well_written(text: &str) -> bool {
    /// How deep a record stands in its store.
    const DEPTH: usize = 1;
    is_pretty(text, DEPTH)
        && serde_json::from_str(text).is_ok_and(|Brief(entry)| {
            !OLD_FIELDS.iter().any(|field| entry.contains_key(*field))
                && delivery::normalize_entry(&SessionEntry::new(entry)).is_none()
        })
}

/// Puts a store together from keys and the texts of their records.
pub fn join_store<'s>(records: impl Iterator<Item = (&'s str, &'s str)> + Clone) -> String {
    let length = records.clone().map(|(key, record)| key.len() + record.len() + 16).sum();
    let mut text = String::with_capacity(length);
    for (key, record) in json::by_js_order(records) {
        text.push_str(if text.is_empty() { "{\n  " } else { ",\n  " });
        json::push_string(&mut text, key);
        text.push_str(": ");
        text.push_str(record);
    }
    text.push_str(if text.is_empty() { "{}" } else { "\n}" });
    text
}

/// Writes a store: every record's delivery fields in one form, an indent of two, no final line feed.
pub fn store_text(store: &Object) -> String {
    let records: Vec<(&str, String)> =
        store.iter().map(|(key, record)| (key.as_str(), record_text(record))).collect();
    join_store(records.iter().map(|(key, record)| (*key, record.as_str())))
}

/// A record as it is written.
pub fn written(entry: &Value) -> Value {
    let Value::Object(object) = entry else {
        return entry.clone();
    };
    let mut entry = SessionEntry::new(object.clone());
    if let Some(patch) = delivery::normalize_entry(&entry) {
        entry.apply(&patch);
    }
    Value::Object(entry.into_object())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_are_moved_unless_the_new_one_is_taken() {
        let store = parse_store(
            r#"{a:{provider:'x',room:'r'},b:{provider:'x',channel:'y',room:'r',groupChannel:'g'},c:null}"#,
        );
        let text = json::stringify_object(&store.unwrap());
        assert_eq!(
            text,
            r#"{"a":{"channel":"x","groupChannel":"r"},"b":{"provider":"x","channel":"y","groupChannel":"g"},"c":null}"#
        );
        for damaged in ["", "{", "[]", "7"] {
            assert_eq!(parse_store(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn a_record_that_is_well_written_is_written_the_same() {
        //  record, written as it is
        let table = [
            (
                r#"{"sessionId":"s","updatedAt":7,"origin":{"label":"x"},"skillsSnapshot":{"prompt":"a\nb"}}"#,
                true,
            ),
            (
                r#"{"deliveryContext":{"channel":"telegram","to":"1"},"lastChannel":"telegram","lastTo":"1"}"#,
                true,
            ),
            ("{}", true),
            (r#"{"lastChannel":"telegram","lastTo":"1"}"#, false),
            (r#"{"provider":"x"}"#, false),
            (r#"{"room":"r","groupChannel":"g"}"#, false),
            (r#"{"lastProvider":"x"}"#, false),
            ("null", false),
            ("[]", false),
        ];
        for (record, expected) in table {
            let record = json::parse(record).unwrap();
            let text = json::stringify_pretty(&record).replace('\n', "\n  ");
            assert_eq!(is_well_written(&text), expected, "{text}");
            if expected {
                assert_eq!(read_record(&text).map(|record| record_text(&record)), Some(text));
                let compact = json::stringify(&record);
                assert_eq!(is_well_written(&compact), compact == "{}", "{compact}");
            }
        }
    }

    #[test]
    fn a_brief_record_is_the_record_without_what_runs_need() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        for text in [
            r#"{"sessionId":"s","skillsSnapshot":{"prompt":"p","skills":[]},"provider":"x","n":1e400}"#
                .to_owned(),
            r#"{"a":1.50,"systemPromptReport":{},"room":"r","a":2,"\ud800":"x"}"#.to_owned(),
            format!(r#"{{"skillsSnapshot":{deep},"kept":{deep}}}"#),
            "{}".to_owned(),
        ] {
            let Some(Value::Object(whole)) = read_record(&text) else { panic!("{text}") };
            let expected = brief(&SessionEntry::new(whole));
            assert_eq!(read_brief_record(&text).as_ref(), Some(&expected), "{text}");
            assert!(expected.as_object().keys().all(|name| !OF_RUNS.contains(&name.as_str())));
        }
        assert_eq!(read_brief_record("null"), None);
        assert_eq!(read_brief_record("{"), None);
    }

    #[test]
    fn delivery_fields_are_mirrored_when_a_store_is_written() {
        let store = parse_store(r#"{"k":{"sessionId":"s","lastChannel":"IMSG","lastTo":" 1 "}}"#).unwrap();
        let text = store_text(&store);
        assert_eq!(
            json::stringify(&json::parse(&text).unwrap()),
            r#"{"k":{"sessionId":"s","lastChannel":"imessage","lastTo":"1","deliveryContext":{"channel":"imessage","to":"1"}}}"#
        );
    }
}
