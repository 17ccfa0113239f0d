//! `sessions.compact`: only the last lines of a file are kept (`transcripts.md` §7.8).
//!
//! The reference keeps exactly the last lines, and so loses the header and, at the next opening,
//! everything. We keep the header besides, and make the first kept entry a root. [`restore`] is the way back.

use std::borrow::Cow;

use super::Stamp;
use super::entry::{Entry, EntryKind};
use super::header::Header;
use super::tree::Transcript;
use super::version;
use crate::json::{Object, Value};
use crate::text;

/// How many lines stay if nobody says so.
const DEFAULT_LINES: usize = 400;

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
    let lines: Vec<&str> = lines(file).collect();
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
    let transcript = Transcript::read(file)?;
    let dropped = dropped.iter().filter(|line| is_entry(line)).count();
    let mut entries = transcript.entries().iter().skip(dropped);
    let mut first = true;
    let mut lines = Vec::with_capacity(kept.len());
    for line in kept {
        if !is_entry(line) {
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

/// A file before its line compaction, with everything that was written to it since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredFile {
    pub text: String,
    /// How many entries come back.
    pub restored: usize,
    /// How many entries of the compacted file were there before the compaction, too.
    pub kept: usize,
}

/// Restores a compacted file from the backup of the whole; `None` if the file does not begin with the last
/// entries of the backup, or lacks none of it.
///
/// Lines that are in both come from the file, since words may have been removed from them meanwhile.
pub fn restore(file: &str, backup: &str, stamp: &mut Stamp<'_>) -> Option<RestoredFile> {
    let migrated = version::migrate(backup, stamp).map(|migrated| migrated.text);
    let is_migrated = migrated.is_some();
    let backup = migrated.map_or(Cow::Borrowed(backup), Cow::Owned);
    let whole = Transcript::read(&backup)?;
    // The reference drops the header with the first lines.
    let file = match Transcript::read(file) {
        Some(_) => version::migrate(file, stamp).map_or(Cow::Borrowed(file), |file| Cow::Owned(file.text)),
        None => Cow::Owned(format!("{}\n{file}", whole.header().line())),
    };
    let short = Transcript::read(&file)?;
    let (whole, short) = (whole.entries(), short.entries());
    // Entries without ids get other ones at each migration.
    let is_same = |one: &Entry, other: &Entry| {
        one.key() == other.key() || (is_migrated && unplaced(one) == unplaced(other))
    };
    let is_cut = |cut: &usize| {
        let kept = &whole[*cut..];
        kept.len() <= short.len() && kept.iter().zip(short).all(|(one, other)| is_same(one, other))
    };
    let cut = (1..whole.len()).find(is_cut)?;
    let mut text = String::with_capacity(backup.len() + file.len());
    let mut dropped = 0;
    for line in lines(&backup) {
        dropped += usize::from(is_entry(line));
        if dropped > cut {
            break;
        }
        push_line(&mut text, line);
    }
    let mut entries = short.iter();
    let mut is_first = true;
    for line in lines(&file) {
        if is_entry(line) {
            let entry = entries.next()?;
            if std::mem::replace(&mut is_first, false) {
                push_line(&mut text, &placed_as(entry, &whole[cut]));
            } else {
                push_line(&mut text, &entry.portable_line());
            }
        } else if !is_first {
            // What comes before the first entry is the header, or in the backup.
            push_line(&mut text, line);
        }
    }
    Some(RestoredFile { text, restored: cut, kept: whole.len() - cut })
}

/// The line of an entry, in the place that it had before.
fn placed_as(entry: &Entry, before: &Entry) -> String {
    if entry.with_parent(None).line() == before.with_parent(None).line() {
        return before.portable_line().into_owned();
    }
    entry.with_parent(before.parent_key()).line().to_owned()
}

/// What an entry says, without its place.
fn unplaced(entry: &Entry) -> Object {
    let mut object = entry.object();
    object.shift_remove("id");
    object.shift_remove("parentId");
    object
}

fn lines(file: &str) -> impl Iterator<Item = &str> {
    let lines = file.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    lines.filter(|line| !text::trim(line).is_empty())
}

fn is_entry(line: &str) -> bool {
    Entry::parse(line).is_some_and(|entry| entry.kind() != EntryKind::Session)
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

    /// The restored text, with ids that are the same at every run.
    fn restored(file: &str, backup: &str) -> Option<(String, usize)> {
        let mut count = 0;
        let mut fresh_id = || {
            count += 1;
            format!("new{count:05}-0000")
        };
        let mut stamp = Stamp { now: "2026-02-04T12:00:00Z".parse().unwrap(), fresh_id: &mut fresh_id };
        restore(file, backup, &mut stamp).map(|restored| (restored.text, restored.restored))
    }

    fn compacted(whole: &str, lines: usize) -> String {
        match compact(whole, max(lines)) {
            LineCompaction::Compacted { text, .. } => text,
            LineCompaction::Untouched { .. } => panic!("nothing to compact in {whole}"),
        }
    }

    #[test]
    fn a_compacted_file_is_restored_with_what_came_later() {
        let a = r#"{"id":"a","parentId":null,"n":1.0}"#;
        let b = r#"{"id":"b","parentId":"a","n":1.0}"#;
        let c = r#"{"id":"c","parentId":"b","n":1.0}"#;
        let d = r#"{"id":"d","parentId":"c"}"#;
        let whole = file(&[HEADER, a, "torn", b, "torn too", c]);
        let later = |text: &str| text.to_owned() + &file(&["torn later", d]);
        for lines in 1..=4 {
            let short = compacted(&whole, lines);
            let dropped = if lines < 3 { 2 } else { 1 };
            assert_eq!(restored(&short, &whole), Some((whole.clone(), dropped)), "{lines}");
            assert_eq!(restored(&later(&short), &whole), Some((later(&whole), dropped)), "{lines}");
        }
        // As the reference compacts: without the header.
        assert_eq!(restored(&file(&[b, "torn too", c, d]), &whole).map(|(_, dropped)| dropped), Some(1));
        // Words that were removed meanwhile stay removed.
        let removed = file(&[HEADER, r#"{"id":"b","parentId":null,"n":"gone"}"#, "torn too", c]);
        let expected = file(&[HEADER, a, "torn", r#"{"id":"b","parentId":"a","n":"gone"}"#, "torn too", c]);
        assert_eq!(restored(&removed, &whole), Some((expected, 1)));
        for (file, backup) in [
            (&whole, &whole),
            (&file(&[HEADER, d]), &whole),
            (&file(&[HEADER]), &whole),
            (&file(&[HEADER, b]), &whole),
            (&whole, &compacted(&whole, 1)),
            (&compacted(&whole, 1), &file(&[c])),
        ] {
            assert_eq!(restored(file, backup), None, "{file} {backup}");
        }
    }

    #[test]
    fn older_files_are_restored_too() {
        let said =
            |text: &str| format!(r#"{{"type":"message","message":{{"role":"user","content":"{text}"}}}}"#);
        let lines = ["one", "two", "three", "four"].map(said);
        let whole = file(&[r#"{"type":"session","id":"s"}"#, &lines[0], &lines[1], &lines[2], &lines[3]]);
        let short = compacted(&whole, 2);
        let mut fresh_id = || "ffff0000-0000".to_owned();
        let mut stamp = Stamp { now: "2026-02-04T12:00:00Z".parse().unwrap(), fresh_id: &mut fresh_id };
        let opened = version::migrate(&short, &mut stamp).expect("an older version").text;
        for short in [short, opened] {
            let (text, dropped) = restored(&short, &whole).expect("a backup of it");
            let transcript = Transcript::read(&text).expect("a header");
            let said: Vec<_> = transcript
                .context()
                .messages
                .into_iter()
                .map(|message| message.get("content").cloned())
                .collect();
            assert_eq!(said, ["one", "two", "three", "four"].map(|text| Some(text.into())), "{text}");
            assert_eq!(dropped, 2);
        }
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
