//! Mending a file before a run (`transcripts.md` §7.3).
//!
//! The reference takes out lines that are not JSON, and gives up where the header is missing: the next
//! step then wipes the file. Our readers skip bad lines, so we leave them; but a header that is missing
//! is put back.

use std::fmt;

use jiff::Timestamp;

use super::Transcript;
use super::entry::EntryKind;
use super::header::{Header, NewSession};
use crate::json::{self, Value};
use crate::text;

/// What a repair would do to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Nothing is wrong, or nothing can be done.
    Leave { dropped: usize, reason: Option<Left> },
    /// Keep the original under another name and write this instead.
    Replace { dropped: usize, text: String },
}

/// Why a file that needs it is not repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    Missing,
    Empty,
    InvalidHeader,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "missing session file",
            Self::Empty => "empty session file",
            Self::InvalidHeader => "invalid session header",
        })
    }
}

/// Decides over the text of a file; `None` is a file that does not exist.
pub fn repair(file: Option<&str>) -> Repair {
    let Some(file) = file else {
        return Repair::Leave { dropped: 0, reason: Some(Left::Missing) };
    };
    let mut dropped = 0;
    let mut good = Vec::new();
    for line in file.split('\n').filter(|line| !text::trim(line).is_empty()) {
        match clean(line) {
            Some(line) => good.push(line),
            None => dropped += 1,
        }
    }
    let leave = |reason| Repair::Leave { dropped, reason };
    let Some(first) = good.first() else { return leave(Some(Left::Empty)) };
    if !is_header(first) {
        return leave(Some(Left::InvalidHeader));
    }
    if dropped == 0 {
        return leave(None);
    }
    Repair::Replace { dropped, text: good.join("\n") + "\n" }
}

/// The line as JavaScript would write it; one that is JSON but too deep for us stays as it is.
fn clean(line: &str) -> Option<String> {
    match json::parse(line) {
        Ok(value) => Some(json::stringify(&value)),
        Err(_) => {
            let is_json = serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok();
            is_json.then(|| line.trim_end_matches('\r').to_owned())
        }
    }
}

/// A header for a file that has entries and none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingHeader {
    /// The line to put in front of the file …
    pub header: String,
    /// … instead of its first bytes, which are white space.
    pub skip: usize,
}

impl MissingHeader {
    /// Whether the header is what is missing; then the file is one of this session. A file without a
    /// single entry of a kind that transcripts have is no transcript.
    pub fn of(file: &str, session: NewSession<'_>, now: Timestamp) -> Option<Self> {
        // Most files have theirs, in the first line: no reason to read the rest.
        let first = text::trim_start(file).split('\n').next().unwrap_or_default();
        if Header::parse(first).is_some() || Transcript::read(file).is_some() {
            return None;
        }
        let header = Header::new(session, now).line();
        let body = text::trim_start(file);
        let whole = Transcript::read(&format!("{header}\n{body}"))?;
        let has_entries = whole.entries().iter().any(|entry| entry.kind() != EntryKind::Unknown);
        has_entries.then(|| Self { header, skip: file.len() - body.len() })
    }
}

fn is_header(line: &str) -> bool {
    let header = json::parse(line).unwrap_or_default();
    let field = |name: &str| header.get(name).and_then(Value::as_str);
    field("type") == Some("session") && field("id").is_some_and(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_header_is_put_back() {
        const ENTRY: &str = r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}"#;
        let session = NewSession { id: "s", cwd: "/w", parent: None };
        let missing = |file: &str| {
            let found = MissingHeader::of(file, session, Timestamp::UNIX_EPOCH)?;
            Some((found.skip, Transcript::read(&format!("{}\n{}", found.header, &file[found.skip..]))?))
        };
        let nameless = format!("{{\"type\":\"session\",\"id\":7}}\n{ENTRY}");
        for (file, skip) in [(ENTRY, 0), (&format!("\u{feff}\n{ENTRY}"), 4), (&nameless, 0)] {
            let (skipped, whole) = missing(file).expect(file);
            assert_eq!((skipped, whole.session_id(), whole.leaf_id()), (skip, "s", Some("a")), "{file}");
        }
        let fine = format!("{{\"type\":\"session\",\"id\":\"x\"}}\n{ENTRY}");
        for file in ["", "notes", "null", r#"{"level":"info"}"#, r#"{"type":"session"}"#, &fine] {
            assert!(missing(file).is_none(), "{file}");
        }
    }

    #[test]
    fn broken_lines_are_dropped_behind_a_good_header() {
        const HEADER: &str = r#"{"type":"session","id":"s"}"#;
        let leave = |dropped, reason| Repair::Leave { dropped, reason };
        let table = [
            (None, leave(0, Some(Left::Missing))),
            (Some(String::new()), leave(0, Some(Left::Empty))),
            (Some("{\n{".to_owned()), leave(2, Some(Left::Empty))),
            (Some("null".to_owned()), leave(0, Some(Left::InvalidHeader))),
            (Some(r#"{"type":"session","id":""}"#.to_owned()), leave(0, Some(Left::InvalidHeader))),
            (Some(format!("{HEADER}\r\n\r\n{{\"a\":1.0}}")), leave(0, None)),
            (
                Some(format!("{HEADER}\r\n{{\"a\":1.0}}\n{{\"b\"")),
                Repair::Replace { dropped: 1, text: format!("{HEADER}\n{{\"a\":1}}\n") },
            ),
        ];
        for (file, expected) in table {
            assert_eq!(repair(file.as_deref()), expected, "{file:?}");
        }
    }
}
