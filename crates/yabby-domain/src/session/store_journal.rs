//! The journal beside a store: changes that are safe on the disk but not in `sessions.json` yet
//! (`sessions.md` §6).
//!
//! The reference writes the whole store at every change. We append a line here, and the store follows
//! later; OpenClaw never reads this file. A line says which fields of which record changed, and which
//! session the record belonged to: if another program changes the store in between, a change is made
//! again only where it still belongs.

use jiff::Timestamp;

use crate::json::{self, Object, Value};
use crate::session::entry::{Patch, SessionEntry};
use crate::transcript::time;

const VERSION: u8 = 1;

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// The first one: which journal this is.
    Header {
        id: String,
    },
    Change(Change),
    Folded(Folded),
}

/// Everything up to a change is in the draft of a new store, which is about to be put in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded {
    pub up_to: u64,
    /// The name of the draft; while it is there it was not put in its place.
    pub draft: String,
    /// Which file the store was before; while it still is, nothing took its place.
    pub base: String,
}

/// What became of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Counts up from line to line.
    pub number: u64,
    pub at: Timestamp,
    pub key: String,
    pub kind: ChangeKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ChangeKind {
    /// There was no such record before.
    Begun(SessionEntry),
    /// Fields of the record of this session.
    Fields {
        session_id: Value,
        patch: Patch,
    },
    Removed {
        session_id: Value,
    },
}

/// Why a change was not made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    #[error("the session was removed meanwhile")]
    Gone,
    #[error("the key has another session meanwhile")]
    Replaced,
}

/// What happened to a record between `before` and `after`; `None` if nothing did.
pub fn difference(before: Option<&SessionEntry>, after: Option<&SessionEntry>) -> Option<ChangeKind> {
    match (before, after) {
        (None, None) => None,
        (None, Some(after)) => Some(ChangeKind::Begun(after.clone())),
        (Some(before), None) => Some(ChangeKind::Removed { session_id: session_of(before) }),
        (Some(before), Some(after)) => {
            let mut patch = Patch::default();
            for (field, value) in after.as_object() {
                if before.get(field) != Some(value) {
                    patch.put(field, Some(value.clone()));
                }
            }
            for field in before.as_object().keys().filter(|field| after.get(field).is_none()) {
                patch.put(field, None);
            }
            (!patch.is_empty()).then(|| ChangeKind::Fields { session_id: session_of(before), patch })
        }
    }
}

/// Whether the difference makes exactly `after` of `before`, with its fields in the same order: those that
/// stay have kept their places.
pub fn keeps_order(before: Option<&SessionEntry>, after: Option<&SessionEntry>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return true };
    let staying = before.as_object().keys().filter(|field| after.get(field).is_some());
    staying.eq(after.as_object().keys().take_while(|field| before.get(field).is_some()))
}

fn session_of(entry: &SessionEntry) -> Value {
    entry.get("sessionId").cloned().unwrap_or_default()
}

impl ChangeKind {
    /// Makes the change, unless the record is no longer the one that it was made to.
    pub fn apply(&self, record: &mut Option<SessionEntry>) -> Result<(), Conflict> {
        match (self, record) {
            (Self::Begun(entry), record @ None) => *record = Some(entry.clone()),
            (Self::Begun(entry), Some(record)) if session_of(entry) == session_of(record) => {
                record.apply(&Patch::from_object(entry.as_object()));
            }
            (Self::Fields { session_id, patch }, Some(record)) => {
                let session = session_of(record);
                // A change that gave the record a new session may have been made before.
                if session != *session_id && Some(&session) != patch.get("sessionId") {
                    return Err(Conflict::Replaced);
                }
                record.apply(patch);
            }
            (Self::Removed { session_id }, record) => match record {
                Some(other) if session_of(other) != *session_id => return Err(Conflict::Replaced),
                _ => *record = None,
            },
            (Self::Begun(_), Some(_)) => return Err(Conflict::Replaced),
            (Self::Fields { .. }, None) => return Err(Conflict::Gone),
        }
        Ok(())
    }
}

impl Line {
    /// The text of the line, its end included.
    pub fn text(self) -> String {
        let mut object = Object::new();
        match self {
            Self::Header { id } => {
                object.insert("journal".into(), "sessions".into());
                object.insert("version".into(), VERSION.into());
                object.insert("id".into(), id.into());
            }
            Self::Folded(folded) => {
                object.insert("folded".into(), folded.up_to.into());
                object.insert("draft".into(), folded.draft.into());
                object.insert("base".into(), folded.base.into());
            }
            Self::Change(change) => {
                object.insert("n".into(), change.number.into());
                object.insert("at".into(), time::iso(change.at).into());
                object.insert("key".into(), change.key.into());
                match change.kind {
                    ChangeKind::Begun(entry) => {
                        object.insert("begun".into(), Value::Object(entry.as_object().clone()));
                    }
                    ChangeKind::Fields { session_id, patch } => {
                        object.insert("sessionId".into(), session_id);
                        let gone = patch.removed().map(Value::from).collect();
                        put_unless_empty(&mut object, "set", Value::Object(patch.into_object()));
                        put_unless_empty(&mut object, "unset", Value::Array(gone));
                    }
                    ChangeKind::Removed { session_id } => {
                        object.insert("sessionId".into(), session_id);
                        object.insert("removed".into(), true.into());
                    }
                }
            }
        }
        json::stringify_object(&object) + "\n"
    }

    /// The line in a text without its end; `None` if it is none of ours.
    pub fn parse(text: &str) -> Option<Self> {
        let Ok(Value::Object(object)) = json::parse(text) else { return None };
        let name = |field: &str| object.get(field).and_then(Value::as_str).map(str::to_owned);
        let count = |field: &str| object.get(field).and_then(Value::as_u64);
        if object.contains_key("journal") {
            return Some(Self::Header { id: name("id")? });
        }
        if let Some(up_to) = count("folded") {
            return Some(Self::Folded(Folded { up_to, draft: name("draft")?, base: name("base")? }));
        }
        let at = object.get("at").and_then(Value::as_str)?.parse().ok()?;
        let (number, key) = (count("n")?, name("key")?);
        let kind = match object.get("begun") {
            Some(Value::Object(entry)) => ChangeKind::Begun(SessionEntry::new(entry.clone())),
            Some(_) => return None,
            None => {
                let session_id = object.get("sessionId")?.clone();
                if object.contains_key("removed") {
                    ChangeKind::Removed { session_id }
                } else {
                    ChangeKind::Fields { session_id, patch: read_patch(&object)? }
                }
            }
        };
        Some(Self::Change(Change { number, at, key, kind }))
    }
}

fn put_unless_empty(object: &mut Object, field: &str, value: Value) {
    let is_empty = match &value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(names) => names.is_empty(),
        _ => false,
    };
    if !is_empty {
        object.insert(field.into(), value);
    }
}

fn read_patch(object: &Object) -> Option<Patch> {
    let mut patch = match object.get("set") {
        None => Patch::default(),
        Some(Value::Object(set)) => Patch::from_object(set),
        Some(_) => return None,
    };
    for name in object.get("unset").map_or(Some(&[][..]), |names| names.as_array().map(Vec::as_slice))? {
        patch.put(name.as_str()?, None);
    }
    Some(patch)
}

/// A journal as it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journal {
    /// What its header calls it.
    pub id: Option<String>,
    /// The changes that the store may not have, in order.
    pub changes: Vec<Change>,
    /// The highest number in it, also of a change that the store has.
    pub last_number: u64,
    /// How many bytes of it are whole lines. What follows was being written when the writer died, and
    /// nobody was told that it was safe.
    pub whole: usize,
    /// The lines, counted from one, that cannot be read.
    pub damaged: Vec<usize>,
    /// A draft that it speaks of took the place of the store.
    pub is_folded: bool,
    /// Drafts that did not take the place of the store, since their writers died.
    pub waiting_drafts: Vec<String>,
}

impl Journal {
    /// Reads a journal, or the rest of one that begins at a line. `is_in_place` tells whether the draft of
    /// a store took its place.
    pub fn read(bytes: &[u8], is_in_place: impl Fn(&Folded) -> bool) -> Self {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut journal = Self { whole, ..Self::default() };
        for (at, line) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
            match std::str::from_utf8(line).ok().and_then(|line| Line::parse(line.trim_end())) {
                None => journal.damaged.push(at + 1),
                Some(Line::Header { id }) => journal.id = Some(id),
                Some(Line::Change(change)) => {
                    journal.last_number = journal.last_number.max(change.number);
                    journal.changes.push(change);
                }
                Some(Line::Folded(folded)) => {
                    if is_in_place(&folded) {
                        journal.is_folded = true;
                        journal.changes.retain(|change| change.number > folded.up_to);
                    } else {
                        journal.waiting_drafts.push(folded.draft);
                    }
                }
            }
        }
        journal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> SessionEntry {
        SessionEntry::new(json::parse(text).unwrap().as_object().unwrap().clone())
    }

    fn change(number: u64, kind: ChangeKind) -> Line {
        let at = Timestamp::from_millisecond(1_768_469_400_000).unwrap();
        Line::Change(Change { number, at, key: "agent:main:main".to_owned(), kind })
    }

    #[test]
    fn lines_are_plain_text_and_read_back() {
        let before = entry(r#"{"sessionId":"s","label":"x","note":"\ud83d"}"#);
        let after = entry(r#"{"sessionId":"s","totalTokens":5,"note":null}"#);
        let table = [
            (Line::Header { id: "j".to_owned() }, r#"{"journal":"sessions","version":1,"id":"j"}"#),
            (
                change(1, difference(None, Some(&before)).unwrap()),
                r#"{"n":1,"at":"2026-01-15T09:30:00.000Z","key":"agent:main:main","begun":{"sessionId":"s","label":"x","note":"\ud83d"}}"#,
            ),
            (
                change(2, difference(Some(&before), Some(&after)).unwrap()),
                r#"{"n":2,"at":"2026-01-15T09:30:00.000Z","key":"agent:main:main","sessionId":"s","set":{"totalTokens":5,"note":null},"unset":["label"]}"#,
            ),
            (
                change(3, difference(Some(&after), None).unwrap()),
                r#"{"n":3,"at":"2026-01-15T09:30:00.000Z","key":"agent:main:main","sessionId":"s","removed":true}"#,
            ),
            (
                Line::Folded(Folded {
                    up_to: 3,
                    draft: "sessions.json.7.tmp".to_owned(),
                    base: "1-2-3".to_owned(),
                }),
                r#"{"folded":3,"draft":"sessions.json.7.tmp","base":"1-2-3"}"#,
            ),
        ];
        for (line, text) in table {
            assert_eq!(line.clone().text(), format!("{text}\n"));
            assert_eq!(Line::parse(text), Some(line), "{text}");
        }
        assert_eq!(difference(Some(&before), Some(&before)), None);
        assert_eq!(difference(None, None), None);
        for foreign in ["", "null", "{}", r#"{"n":1}"#, r#"{"n":1,"at":"2026-01-15T09:30:00Z","key":"k"}"#] {
            assert_eq!(Line::parse(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn a_record_whose_fields_kept_their_places_is_what_its_line_makes() {
        let before = entry(r#"{"sessionId":"s","a":1,"b":2}"#);
        let table = [
            (r#"{"sessionId":"s","a":1,"b":3}"#, true),
            (r#"{"sessionId":"s","b":2}"#, true),
            (r#"{"sessionId":"s","a":1,"b":2,"c":3}"#, true),
            (r#"{"sessionId":"s","b":2,"a":1}"#, false),
            (r#"{"sessionId":"s","a":1,"c":3,"b":2}"#, false),
            (r#"{"c":3,"sessionId":"s","a":1,"b":2}"#, false),
        ];
        for (after, expected) in table {
            let after = entry(after);
            assert_eq!(keeps_order(Some(&before), Some(&after)), expected, "{after:?}");
            let mut made = Some(before.clone());
            difference(Some(&before), Some(&after))
                .into_iter()
                .for_each(|kind| kind.apply(&mut made).unwrap());
            let text =
                |entry: Option<&SessionEntry>| entry.map(|entry| json::stringify_object(entry.as_object()));
            assert_eq!(text(made.as_ref()) == text(Some(&after)), expected, "{after:?}");
        }
    }

    #[test]
    fn a_change_is_made_only_where_it_belongs() {
        let old = entry(r#"{"sessionId":"a","n":1}"#);
        let new = entry(r#"{"sessionId":"b","n":2}"#);
        let grown = entry(r#"{"sessionId":"a","n":3}"#);
        let begun = difference(None, Some(&old)).unwrap();
        let grow = difference(Some(&old), Some(&grown)).unwrap();
        let reset = difference(Some(&old), Some(&new)).unwrap();
        let removed = difference(Some(&old), None).unwrap();
        //  change   record before   record after, or why not
        let table = [
            (&begun, None, Ok(Some(&old))),
            (&begun, Some(&grown), Ok(Some(&old))),
            (&begun, Some(&new), Err(Conflict::Replaced)),
            (&grow, Some(&old), Ok(Some(&grown))),
            (&grow, None, Err(Conflict::Gone)),
            (&grow, Some(&new), Err(Conflict::Replaced)),
            (&reset, Some(&old), Ok(Some(&new))),
            (&reset, Some(&new), Ok(Some(&new))),
            (&removed, Some(&old), Ok(None)),
            (&removed, None, Ok(None)),
            (&removed, Some(&new), Err(Conflict::Replaced)),
        ];
        for (change, before, expected) in table {
            let mut record = before.cloned();
            let made = change.apply(&mut record).map(|()| record.clone());
            assert_eq!(made, expected.map(|after| after.cloned()), "{change:?} {before:?}");
            if made.is_err() {
                assert_eq!(record.as_ref(), before, "{change:?}");
            }
        }
    }

    #[test]
    fn a_journal_ends_with_its_last_whole_line() {
        let old = entry(r#"{"sessionId":"a","n":1}"#);
        let begun = |number| change(number, difference(None, Some(&old)).unwrap()).text();
        let header = Line::Header { id: "j".to_owned() }.text();
        let folded = Folded { up_to: 1, draft: "d".to_owned(), base: "b".to_owned() };
        let folded = Line::Folded(folded).text();
        let numbers = |journal: &Journal| journal.changes.iter().map(|c| c.number).collect::<Vec<_>>();

        let torn = format!("{header}{}{}", begun(1), &begun(2)[..30]);
        let journal = Journal::read(torn.as_bytes(), |_| false);
        assert_eq!((numbers(&journal), journal.whole), (vec![1], torn.len() - 30));
        assert_eq!((journal.id.as_deref(), journal.last_number), (Some("j"), 1));

        let garbage_between = format!("{header}x\n{}", begun(2));
        let journal = Journal::read(garbage_between.as_bytes(), |_| false);
        assert_eq!((numbers(&journal), journal.damaged), (vec![2], vec![2]));

        let half_folded = format!("{header}{}{folded}{}", begun(1), begun(2));
        let journal = Journal::read(half_folded.as_bytes(), |_| false);
        assert_eq!((numbers(&journal), journal.waiting_drafts), (vec![1, 2], vec!["d".to_owned()]));
        let journal = Journal::read(half_folded.as_bytes(), |folded| folded.draft == "d");
        assert_eq!((numbers(&journal), journal.last_number, journal.is_folded), (vec![2], 2, true));
        assert_eq!(Journal::read(b"", |_| false), Journal::default());
    }
}
