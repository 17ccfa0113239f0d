//! What is wrong with a transcript (`transcripts.md` §2, §9).
//!
//! None of it keeps a file from being read; this is what a person is told about it.

use std::collections::HashMap;
use std::fmt;

use super::entry::{Entry, EntryId, EntryKind};
use super::header::{Header, Version};
use crate::json;
use crate::text;

/// Something that is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Counted from one.
    pub line: usize,
    pub kind: DamageKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DamageKind {
    NotUtf8,
    NotJson,
    /// The last line was cut off while it was written.
    CutOff,
    /// JSON, but no object.
    NoEntry,
    /// The first entry is no session header.
    NoHeader,
    /// The last line has no line feed.
    Unterminated,
    TooDeep,
    LoneSurrogate,
    DuplicateId {
        id: String,
        first: usize,
    },
    UnknownParent {
        parent: String,
    },
    /// The entry is its own ancestor.
    ParentCycle,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.kind)
    }
}

impl fmt::Display for DamageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 => f.write_str("has bytes that are not UTF-8; they are read as \u{fffd}"),
            Self::NotJson => f.write_str("is not JSON; it is skipped"),
            Self::CutOff => f.write_str("was cut off while it was written; it is skipped"),
            Self::NoEntry => f.write_str("is no entry; it is skipped"),
            Self::NoHeader => f.write_str("should be the session header; one is put in front of it"),
            Self::Unterminated => f.write_str("is not ended by a line feed; one is put there first"),
            Self::TooDeep => {
                write!(f, "is nested more than {} levels deep; its content is not shown", json::MAX_DEPTH)
            }
            Self::LoneSurrogate => f.write_str("has half a surrogate pair; it is kept as it is"),
            Self::DuplicateId { id, first } => {
                write!(f, "has the id {id} of line {first}, which nobody can find any more")
            }
            Self::UnknownParent { parent } => {
                write!(f, "hangs from {parent}, which does not exist; the conversation begins here")
            }
            Self::ParentCycle => f.write_str("is its own ancestor; the conversation begins here"),
        }
    }
}

/// Everything that is wrong with a file, in the order of its lines.
pub fn inspect(file: &[u8]) -> Vec<Damage> {
    let mut found = Vec::new();
    let mut entries = Vec::<(usize, Entry)>::new();
    let mut header = None;
    let start = leading_space(file);
    let last = file.split(|byte| *byte == b'\n').count();
    let is_terminated = file.is_empty() || file.ends_with(b"\n");
    let mut offset = 0;
    for (at, bytes) in file.split(|byte| *byte == b'\n').enumerate() {
        let line = at + 1;
        let skip = start.saturating_sub(offset).min(bytes.len());
        offset += bytes.len() + 1;
        let text = text::lossy(bytes.get(skip..).unwrap_or_default());
        if text::trim(&text).is_empty() {
            continue;
        }
        let is_cut = line == last && !is_terminated;
        let text: &str = if is_cut { text::trim_end(&text) } else { &text };
        let mut note = |kind| found.push(Damage { line, kind });
        if std::str::from_utf8(bytes).is_err() {
            note(DamageKind::NotUtf8);
        }
        let Some(entry) = Entry::parse(text) else {
            let is_json = json::parse(text).is_ok();
            note(match (is_json, is_cut) {
                (true, _) => DamageKind::NoEntry,
                (false, true) => DamageKind::CutOff,
                (false, false) => DamageKind::NotJson,
            });
            continue;
        };
        if is_cut {
            note(DamageKind::Unterminated);
        }
        if entry.object().is_empty() && text::trim(text) != "{}" {
            note(DamageKind::TooDeep);
        }
        if text::has_stand_ins(&json::readable(text)) {
            note(DamageKind::LoneSurrogate);
        }
        match &header {
            None => {
                header = Some(Header::parse(text));
                if header == Some(None) {
                    note(DamageKind::NoHeader);
                    entries.push((line, entry));
                }
            }
            Some(_) if entry.kind() == EntryKind::Session => {}
            Some(_) => entries.push((line, entry)),
        }
    }
    // Older files have lines without a name, whose place is their place in the file.
    if header.flatten().is_none_or(|header| header.version() == Version::Three) {
        let settled = settled(entries);
        found.extend(wrong_places(&settled));
    }
    found.sort_by_key(|damage| damage.line);
    found
}

/// How many bytes of white space a file begins with.
pub(super) fn leading_space(file: &[u8]) -> usize {
    let first_line = file.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    let text = text::lossy(first_line);
    text.len() - text::trim_start(&text).len()
}

fn settled(entries: Vec<(usize, Entry)>) -> Vec<(usize, Entry)> {
    let mut settled = Vec::<(usize, Entry)>::with_capacity(entries.len());
    for (line, mut entry) in entries {
        let previous = settled.last().and_then(|(_, previous)| previous.key());
        entry.settle(settled.len(), previous, false);
        settled.push((line, entry));
    }
    settled
}

fn wrong_places(entries: &[(usize, Entry)]) -> Vec<Damage> {
    let mut found = Vec::new();
    let mut by_id = HashMap::<&EntryId, usize>::new();
    for (at, (line, entry)) in entries.iter().enumerate() {
        let Some(id) = entry.key() else { continue };
        if let Some(first) = by_id.insert(id, at) {
            let kind = DamageKind::DuplicateId { id: shown(id), first: entries[first].0 };
            found.push(Damage { line: *line, kind });
        }
    }
    let parent_of = |at: usize| entries[at].1.parent_key().and_then(|parent| by_id.get(parent)).copied();
    for (line, entry) in entries {
        if let Some(parent) = entry.parent_key().filter(|parent| !by_id.contains_key(parent)) {
            found.push(Damage { line: *line, kind: DamageKind::UnknownParent { parent: shown(parent) } });
        }
    }
    // Every entry is walked over once; a walk that meets itself has found a circle.
    let mut walked_by = vec![usize::MAX; entries.len()];
    for start in 0..entries.len() {
        let mut next = Some(start);
        while let Some(at) = next.filter(|at| walked_by[*at] == usize::MAX) {
            walked_by[at] = start;
            next = parent_of(at);
        }
        if let Some(again) = next.filter(|at| walked_by[*at] == start) {
            found.push(Damage { line: entries[again].0, kind: DamageKind::ParentCycle });
        }
    }
    found
}

fn shown(id: &EntryId) -> String {
    match id {
        EntryId::Text(text) => text::to_outside(text).into_owned(),
        EntryId::Other(json) => json.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s"}"#;

    fn told(lines: &[&str], end: &str) -> Vec<String> {
        let file = format!("{}{end}", lines.join("\n"));
        inspect(file.as_bytes()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_sound_file_has_no_damage() {
        let a = r#"{"type":"message","id":"a","parentId":null,"text":"\ud83d\ude00"}"#;
        let b = r#"{"type":"message","id":"b","parentId":"a"}"#;
        assert_eq!(told(&[HEADER, a, "", b], "\n"), [""; 0]);
        assert_eq!(told(&["\u{feff}", "\u{feff}"], ""), [""; 0]);
        let nameless = r#"{"type":"message","message":{}}"#;
        assert_eq!(told(&[HEADER, nameless, nameless], "\n"), [""; 0]);
        assert_eq!(inspect(b""), []);
    }

    #[test]
    fn each_damage_is_told_with_its_line() {
        let entry = |id: &str, parent: &str| format!(r#"{{"id":"{id}","parentId":"{parent}"}}"#);
        let root = r#"{"id":"a","parentId":null}"#;
        //  line 3, line 4                        what is told
        let table = [
            ("garbage", root.to_owned(), "line 3: is not JSON; it is skipped"),
            ("null", root.to_owned(), "line 3: is no entry; it is skipped"),
            (root, root.to_owned(), "line 4: has the id a of line 3, which nobody can find any more"),
            (
                root,
                entry("b", "gone"),
                "line 4: hangs from gone, which does not exist; the conversation begins here",
            ),
            (root, entry("b", "b"), "line 4: is its own ancestor; the conversation begins here"),
            (
                r#"{"id":"c","parentId":"b"}"#,
                entry("b", "c"),
                "line 3: is its own ancestor; the conversation begins here",
            ),
            (
                r#"{"id":"a","parentId":null,"x":"\ud83d"}"#,
                entry("b", "a"),
                "line 3: has half a surrogate pair; it is kept as it is",
            ),
        ];
        for (third, fourth, expected) in table {
            assert_eq!(told(&[HEADER, "", third, &fourth], "\n"), [expected], "{third} {fourth}");
        }
        let deep = format!("{{\"id\":\"a\",\"x\":{}1{}}}", "[".repeat(600), "]".repeat(600));
        assert_eq!(
            told(&[HEADER, &deep], "\n"),
            ["line 2: is nested more than 512 levels deep; its content is not shown"]
        );
    }

    #[test]
    fn ends_and_beginnings_are_looked_at() {
        let root = r#"{"type":"message","id":"a","parentId":null}"#;
        assert_eq!(
            told(&[HEADER, root], ""),
            ["line 2: is not ended by a line feed; one is put there first"]
        );
        assert_eq!(
            told(&[HEADER, root, "{\"id"], ""),
            ["line 3: was cut off while it was written; it is skipped"]
        );
        assert_eq!(
            told(&[root, HEADER], "\n"),
            ["line 1: should be the session header; one is put in front of it"]
        );
        let bytes = [HEADER.as_bytes(), b"\n{\"id\":\"\xff\"}\n"].concat();
        let told: Vec<String> = inspect(&bytes).iter().map(ToString::to_string).collect();
        assert_eq!(told, ["line 2: has bytes that are not UTF-8; they are read as \u{fffd}"]);
    }
}
