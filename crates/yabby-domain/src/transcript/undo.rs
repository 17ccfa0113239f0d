//! Going back to what a compaction summarised (`transcripts.md` §6).
//!
//! Nothing is taken away: a new branch begins in front of the compaction, with a mark that tells why it is
//! there, and what was said since then is said again on it. A reader that knows nothing of this sees a
//! conversation that was never compacted.

use serde_json::json;

use super::entry::{Entry, EntryKind};
use super::line_compact::RestoredFile;
use super::tree::{NewEntry, Transcript};
use crate::json::Value;

/// The type of the `custom` entry that such a branch begins with; its `data.compaction` is the id of the
/// compaction that was undone.
pub const UNDONE_MARK: &str = "yabby.compaction-undone";

/// How to undo a compaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Undo {
    /// The compaction, if it has a name.
    pub compaction: Option<String>,
    /// Where the new branch begins; `None` at the root.
    pub leaf: Option<String>,
    /// What is appended there: the mark, then what followed the compaction.
    pub entries: Vec<NewEntry>,
    /// Labels of entries that are said again: the place of the entry in `entries`, and its label.
    labels: Vec<(usize, String)>,
}

/// Plans to undo the last compaction of the conversation; `None` if it has none.
///
/// Labels and the session's name are found wherever they stand in the file, so that those are not said
/// again; a label of an entry that is goes over to its copy. Copies keep the time at which they were said.
pub fn undo_compaction(transcript: &Transcript) -> Option<Undo> {
    let branch = transcript.branch();
    let at = branch.iter().rposition(|entry| entry.kind() == EntryKind::Compaction)?;
    let compaction = branch[at].id().map(str::to_owned);
    // A parent that does not exist is no place to begin at.
    let before = at.checked_sub(1).map(|before| branch[before]);
    let leaf = match before {
        None => None,
        Some(before) => Some(before.id()?.to_owned()),
    };
    let mark = json!({ "compaction": compaction });
    let mut entries = vec![NewEntry::Custom { custom_type: UNDONE_MARK.to_owned(), data: Some(mark) }];
    let mut labels = Vec::new();
    for entry in &branch[at + 1..] {
        if matches!(entry.kind(), EntryKind::Label | EntryKind::SessionInfo) {
            continue;
        }
        if let Some(label) = entry.key().and_then(|key| transcript.label(key)) {
            labels.push((entries.len(), label.to_owned()));
        }
        entries.push(NewEntry::Copy(entry.object()));
    }
    Some(Undo { compaction, leaf, entries, labels })
}

/// Whether a line compaction is the last compaction of the conversation: whether the file has no summary, or only
/// summaries that were there before its first lines were dropped.
pub fn is_last_compaction(lines: &RestoredFile, transcript: &Transcript) -> bool {
    let branch = transcript.branch();
    let Some(summary) = branch.iter().rfind(|entry| entry.kind() == EntryKind::Compaction) else {
        return true;
    };
    let kept = &transcript.entries()[..lines.kept.min(transcript.entries().len())];
    kept.iter().any(|entry| entry.key() == summary.key())
}

impl Undo {
    /// How many entries are said again.
    pub fn copied(&self) -> usize {
        self.entries.len() - 1
    }

    /// The labels of the copies, once the entries have ids.
    pub fn labels(&self, ids: &[String]) -> Vec<NewEntry> {
        let label = |(at, label): &(usize, String)| {
            Some(NewEntry::Label { target: ids.get(*at)?.clone(), label: Some(label.clone()) })
        };
        self.labels.iter().filter_map(label).collect()
    }
}

/// Where on a branch a compaction was last undone, and when, in epoch milliseconds. What is older and stands
/// behind that is a copy.
pub(crate) fn undone_at(branch: &[&Entry]) -> Option<(usize, f64)> {
    let is_mark = |entry: &Entry| {
        // Most entries can be told without parsing them.
        entry.kind() == EntryKind::Custom
            && entry.line().contains(UNDONE_MARK)
            && entry.object().get("customType").and_then(Value::as_str) == Some(UNDONE_MARK)
    };
    let at = branch.iter().rposition(|entry| is_mark(entry))?;
    Some((at, branch[at].time()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::message::Message;
    use crate::transcript::Stamp;

    const HEADER: &str =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-03T12:00:00.000Z","cwd":"/w"}"#;

    fn transcript(lines: &[&str]) -> Transcript {
        Transcript::read(&[&[HEADER], lines].concat().join("\n")).unwrap()
    }

    fn said(id: &str, parent: &str, text: &str) -> String {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-02-03T12:00:01.000Z","message":{{"role":"user","content":"{text}","extra":[1]}}}}"#
        )
    }

    /// Undoes, as a writer would; what was planned.
    fn undone(transcript: &mut Transcript) -> Option<Undo> {
        let undo = undo_compaction(transcript)?;
        let mut count = 0;
        let mut fresh_id = || {
            count += 1;
            format!("new{count:05}-0000")
        };
        let mut stamp = Stamp { now: "2026-02-04T12:00:00Z".parse().unwrap(), fresh_id: &mut fresh_id };
        match &undo.leaf {
            Some(leaf) => transcript.move_leaf(leaf).unwrap(),
            None => transcript.reset_leaf(),
        }
        let mut ids = Vec::new();
        for entry in undo.entries.clone() {
            ids.push(transcript.append(entry, &mut stamp).unwrap().id().unwrap().to_owned());
        }
        for label in undo.labels(&ids) {
            transcript.append(label, &mut stamp).unwrap();
        }
        Some(undo)
    }

    fn told(transcript: &Transcript) -> Vec<String> {
        let text = |message: &Message| json::stringify(message.get("content").unwrap_or(&Value::Null));
        transcript.context().messages.iter().map(text).collect()
    }

    #[test]
    fn everything_is_told_again() {
        let compaction = |id: &str, parent: &str, kept: &str| {
            format!(
                r#"{{"type":"compaction","id":"{id}","parentId":{parent},"timestamp":"2026-02-03T12:00:02.000Z","summary":"sum","firstKeptEntryId":"{kept}","tokensBefore":9}}"#
            )
        };
        let [a, b, d] = [said("a", "null", "one"), said("b", "\"a\"", "two"), said("d", "\"c\"", "three")];
        let c = compaction("c", "\"b\"", "b");
        let root = compaction("c", "null", "");
        let dangling = compaction("c", "\"gone\"", "");
        /// Lines, what is told after that, where the branch begins.
        type Case<'c> = (&'c [&'c str], Option<&'c [&'c str]>, Option<&'c str>);
        let table: [Case<'_>; 6] = [
            (&[], None, None),
            (&[&a, &b], None, None),
            (&[&a, &b, &c], Some(&["one", "two"]), Some("b")),
            (&[&a, &b, &c, &d], Some(&["one", "two", "three"]), Some("b")),
            (&[&root, &d], Some(&["three"]), None),
            (&[&dangling, &d], Some(&["three"]), None),
        ];
        for (lines, after, leaf) in table {
            let mut transcript = transcript(lines);
            let before: Vec<String> =
                transcript.entries().iter().map(|entry| entry.line().to_owned()).collect();
            let undo = undone(&mut transcript);
            assert_eq!(undo.is_some(), after.is_some(), "{lines:?}");
            if let (Some(undo), Some(after)) = (undo, after) {
                let after: Vec<String> = after.iter().map(|text| format!("\"{text}\"")).collect();
                assert_eq!(told(&transcript), after, "{lines:?}");
                assert_eq!(
                    (undo.leaf.as_deref(), undo.compaction.as_deref()),
                    (leaf, Some("c")),
                    "{lines:?}"
                );
            }
            let kept: Vec<&str> =
                transcript.entries()[..before.len()].iter().map(|entry| entry.line()).collect();
            assert_eq!(kept, before, "nothing that was there changes");
        }
    }

    #[test]
    fn an_earlier_compaction_is_undone_next() {
        let lines = [
            said("a", "null", "one"),
            r#"{"type":"compaction","id":"c1","parentId":"a","summary":"s1","firstKeptEntryId":""}"#
                .to_owned(),
            said("b", "\"c1\"", "two"),
            r#"{"type":"compaction","id":"c2","parentId":"b","summary":"s2","firstKeptEntryId":""}"#
                .to_owned(),
            said("d", "\"c2\"", "three"),
        ];
        let mut transcript = transcript(&lines.each_ref().map(String::as_str));
        let undone_ones: Vec<String> =
            std::iter::from_fn(|| undone(&mut transcript)?.compaction).take(5).collect();
        assert_eq!(undone_ones, ["c2", "c1"]);
        assert_eq!(told(&transcript), ["\"one\"", "\"two\"", "\"three\""]);
    }

    #[test]
    fn copies_are_what_they_were_but_for_their_place() {
        let lines = [
            said("a", "null", "one"),
            r#"{"type":"compaction","id":"c","parentId":"a","summary":"s","firstKeptEntryId":"a"}"#.to_owned(),
            r#"{"type":"model_change","id":"m","parentId":"c","timestamp":"T","provider":"p","modelId":"x"}"#.to_owned(),
            r#"{"type":"custom_message","customType":"note","content":"hey","display":true,"id":"n","parentId":"m","timestamp":"2026-02-03T12:00:03.000Z"}"#.to_owned(),
            r#"{"type":"from-the-future","id":"f","parentId":"n","what":{"ever":1}}"#.to_owned(),
            r#"{"type":"label","id":"l1","parentId":"f","targetId":"a","label":"start"}"#.to_owned(),
            r#"{"type":"label","id":"l2","parentId":"l1","targetId":"n","label":"mine"}"#.to_owned(),
            r#"{"type":"session_info","id":"i","parentId":"l2","name":"About"}"#.to_owned(),
        ];
        let mut transcript = transcript(&lines.each_ref().map(String::as_str));
        let before = lines.len();
        undone(&mut transcript);
        let added: Vec<&str> = transcript.entries()[before..].iter().map(|entry| entry.line()).collect();
        assert_eq!(
            added,
            [
                r#"{"type":"custom","customType":"yabby.compaction-undone","data":{"compaction":"c"},"id":"new00001","parentId":"a","timestamp":"2026-02-04T12:00:00.000Z"}"#,
                r#"{"type":"model_change","id":"new00002","parentId":"new00001","timestamp":"T","provider":"p","modelId":"x"}"#,
                r#"{"type":"custom_message","customType":"note","content":"hey","display":true,"id":"new00003","parentId":"new00002","timestamp":"2026-02-03T12:00:03.000Z"}"#,
                r#"{"type":"from-the-future","id":"new00004","parentId":"new00003","what":{"ever":1}}"#,
                r#"{"type":"label","id":"new00005","parentId":"new00004","timestamp":"2026-02-04T12:00:00.000Z","targetId":"new00003","label":"mine"}"#,
            ]
        );
        assert_eq!(transcript.name().as_deref(), Some("About"));
        assert_eq!(transcript.labels().len(), 3);
    }
}
