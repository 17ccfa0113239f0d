//! What is written beside a transcript before its first answer (`transcripts.md` §4, §7.2).
//!
//! OpenClaw empties a file that holds no answer yet, so the questions before the first one are kept in
//! `<file>.journal`: the header, so that it stands for itself, and exactly the lines that the file will
//! get. With the first answer they go to the file, and the journal is removed. If that was interrupted,
//! some lines are in both.

use std::collections::HashSet;

use super::entry::{Entry, EntryId, EntryKind};
use crate::text;

/// The journal of a transcript.
pub fn journal_file(transcript: &str) -> String {
    format!("{transcript}.journal")
}

/// The lines of a journal that were written to their end; the rest was never acknowledged.
pub fn whole_lines(journal: &[u8]) -> &[u8] {
    let end = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    journal.get(..end).unwrap_or_default()
}

/// What a journal says that its file does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pending {
    /// These lines are still to come.
    Lines(String),
    /// The file has an answer: what is in the journal is in the file, too, or somebody else has gone
    /// on with the conversation without it. `lost` if there are lines that only the journal holds.
    Overtaken { lost: bool },
}

/// Compares a journal with its file.
pub fn pending(file: Option<&str>, journal: &str) -> Pending {
    if journal.is_empty() {
        return Pending::Lines(String::new());
    }
    let (mut ids, mut has_header, mut is_answered) = (HashSet::<EntryId>::new(), false, false);
    for entry in entries(file.unwrap_or_default()) {
        has_header |= entry.kind() == EntryKind::Session;
        is_answered |= entry.is_assistant_message();
        ids.extend(entry.key().cloned());
    }
    let is_missing = |entry: &Entry| match entry.kind() {
        EntryKind::Session => !has_header,
        _ => entry.key().is_none_or(|id| !ids.contains(id)),
    };
    let missing: Vec<Entry> = entries(journal).filter(is_missing).collect();
    if is_answered {
        return Pending::Overtaken { lost: !missing.is_empty() };
    }
    Pending::Lines(missing.iter().map(|entry| format!("{}\n", entry.line())).collect())
}

/// The entries on the lines of a text, header lines included.
pub(super) fn entries(text: &str) -> impl Iterator<Item = Entry> {
    text::trim(text).split('\n').filter_map(Entry::parse)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
    const QUESTION: &str = "{\"type\":\"message\",\"id\":\"a\",\"message\":{\"role\":\"user\"}}\n";
    const SECOND: &str = "{\"type\":\"message\",\"id\":\"b\",\"message\":{\"role\":\"user\"}}\n";
    const ANSWER: &str = "{\"type\":\"message\",\"id\":\"c\",\"message\":{\"role\":\"assistant\"}}\n";

    #[test]
    fn what_the_file_already_holds_is_not_pending() {
        let lines = |lines: &[&str]| Pending::Lines(lines.concat());
        //  file                                          pending
        let table = [
            (None, lines(&[HEADER, QUESTION, SECOND])),
            (Some(String::new()), lines(&[HEADER, QUESTION, SECOND])),
            (Some(HEADER.to_owned()), lines(&[QUESTION, SECOND])),
            (Some([HEADER, QUESTION].concat()), lines(&[SECOND])),
            (Some([HEADER, QUESTION, &SECOND[..20]].concat()), lines(&[SECOND])),
            (Some([HEADER, QUESTION, SECOND, ANSWER].concat()), Pending::Overtaken { lost: false }),
            (Some([HEADER, ANSWER].concat()), Pending::Overtaken { lost: true }),
        ];
        for (file, expected) in table {
            let journal = [HEADER, QUESTION, SECOND].concat();
            assert_eq!(pending(file.as_deref(), &journal), expected, "{file:?}");
        }
    }

    #[test]
    fn a_torn_last_line_was_never_written() {
        for (journal, whole) in [("", ""), ("a", ""), ("a\n", "a\n"), ("a\nb", "a\n")] {
            assert_eq!(whole_lines(journal.as_bytes()), whole.as_bytes(), "{journal:?}");
        }
    }
}
