//! `sessions.compact`: only the last lines of a file are kept (`transcripts.md` §7.8).
//!
//! The reference keeps exactly the last lines, and so loses the header and, at the next opening,
//! everything. We keep the header besides, and make the first kept entry a root.

use super::entry::{Entry, EntryKind};
use super::header::Header;
use super::tree::Transcript;
use crate::json::Value;
use crate::text;

/// How many lines stay if nobody says so.
const DEFAULT_LINES: usize = 400;

/// The counters of a session record that say nothing about a compacted transcript.
pub const CLEARED_COUNTERS: [&str; 3] = ["inputTokens", "outputTokens", "totalTokens"];

/// How many lines are to be kept: at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxLines(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMaxLines {
    #[error("at /maxLines: must be integer")]
    NotWhole,
    #[error("at /maxLines: must be >= 1")]
    TooFew,
}

impl Default for MaxLines {
    fn default() -> Self {
        Self(DEFAULT_LINES)
    }
}

impl MaxLines {
    /// That many, or one.
    pub fn at_most(lines: usize) -> Self {
        Self(lines.max(1))
    }

    /// The `maxLines` of a request.
    pub fn from_value(value: Option<&Value>) -> Result<Self, InvalidMaxLines> {
        let Some(value) = value else { return Ok(Self::default()) };
        let number = value.as_f64().filter(|n| n.fract() == 0.0).ok_or(InvalidMaxLines::NotWhole)?;
        if number < 1.0 {
            return Err(InvalidMaxLines::TooFew);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole and positive; saturates"
        )]
        return Ok(Self(number as usize));
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineCompaction {
    /// The file is short enough.
    Untouched { kept: usize },
    /// Archive the file, then write this.
    Compacted { text: String, kept: usize },
}

pub fn compact(file: &str, max: MaxLines) -> LineCompaction {
    let lines: Vec<&str> = file
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .filter(|line| !text::trim(line).is_empty())
        .collect();
    let Some(cut) = lines.len().checked_sub(max.0).filter(|cut| *cut > 0) else {
        return LineCompaction::Untouched { kept: lines.len() };
    };
    let (dropped, kept) = lines.split_at(cut);
    let header = dropped.iter().find(|line| Entry::parse(line).is_some());
    let header = header.filter(|line| Header::parse(line).is_some());
    let planted = header.and_then(|_| replanted(file, dropped, kept));
    let mut text = String::new();
    header.into_iter().for_each(|line| push_line(&mut text, line));
    match planted {
        Some(lines) => lines.iter().for_each(|line| push_line(&mut text, line)),
        None => kept.iter().for_each(|line| push_line(&mut text, line)),
    }
    LineCompaction::Compacted { text, kept: kept.len() }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// The kept lines, the first entry among them a root, and each with a place of its own: a place that
/// came from the lines before it would change without them.
fn replanted(file: &str, dropped: &[&str], kept: &[&str]) -> Option<Vec<String>> {
    let is_entry = |line: &&&str| Entry::parse(line).is_some_and(|entry| entry.kind() != EntryKind::Session);
    let transcript = Transcript::read(file)?;
    let mut entries = transcript.entries().iter().skip(dropped.iter().filter(is_entry).count());
    let mut first = true;
    let mut lines = Vec::with_capacity(kept.len());
    for line in kept {
        if !is_entry(&line) {
            lines.push((*line).to_owned());
            continue;
        }
        let entry = entries.next()?;
        let uprooted = std::mem::replace(&mut first, false) && entry.parent_key().is_some();
        lines.push(if uprooted {
            entry.with_parent(None).line().to_owned()
        } else {
            entry.portable_line().into_owned()
        });
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s"}"#;

    fn max(lines: usize) -> MaxLines {
        MaxLines::at_most(lines)
    }

    fn file(lines: &[&str]) -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn the_header_stays_and_the_first_kept_entry_is_a_root() {
        let a = r#"{"id":"a","parentId":null,"n":1.0}"#;
        let b = r#"{"id":"b","parentId":"a","n":1.0}"#;
        let c = r#"{"id":"c","parentId":"b","n":1.0}"#;
        let whole = file(&[HEADER, a, "", b, c]);
        assert_eq!(compact(&whole, max(4)), LineCompaction::Untouched { kept: 4 });
        let text = file(&[HEADER, r#"{"id":"b","parentId":null,"n":1}"#, c]);
        assert_eq!(compact(&whole, max(2)), LineCompaction::Compacted { text, kept: 2 });
        let headless = file(&[a, b, c]);
        let text = file(&[c]);
        assert_eq!(compact(&headless, max(1)), LineCompaction::Compacted { text, kept: 1 });
    }

    #[test]
    fn lines_without_ids_stay_a_conversation() {
        let one = r#"{"type":"message","message":{"role":"user"}}"#;
        let whole = file(&[HEADER, one, one, one, "torn", one]);
        let LineCompaction::Compacted { text, kept: 4 } = compact(&whole, max(4)) else {
            panic!("compacted")
        };
        let transcript = Transcript::read(&text).expect("a header");
        assert_eq!(transcript.context().messages.len(), 3);
        assert!(text.contains("\ntorn\n"));
    }

    #[test]
    fn a_request_names_a_whole_positive_number() {
        let table = [
            ("null", Err(InvalidMaxLines::NotWhole)),
            ("2.9", Err(InvalidMaxLines::NotWhole)),
            ("\"2\"", Err(InvalidMaxLines::NotWhole)),
            ("0", Err(InvalidMaxLines::TooFew)),
            ("3", Ok(MaxLines(3))),
        ];
        for (value, expected) in table {
            assert_eq!(MaxLines::from_value(json::parse(value).ok().as_ref()), expected, "{value}");
        }
        assert_eq!(MaxLines::from_value(None), Ok(MaxLines(400)));
    }
}
