//! What happens to a transcript between its opening and the prompt (`transcripts.md` §7.2).

use super::entry::{Entry, EntryKind};
use super::file::TranscriptFile;
use super::tree::NewEntry;
use crate::message::Role;

/// The model and the thinking level that a run begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSettings<'r> {
    /// Provider and model, once one is chosen.
    pub model: Option<(&'r str, &'r str)>,
    pub thinking_level: &'r str,
}

/// The settings that a run writes down first: all of them in a new conversation, in another one only a
/// thinking level that nobody ever noted.
pub fn opening_entries(branch: &[&Entry], run: RunSettings<'_>) -> Vec<NewEntry> {
    // Whoever tells something stands near the end; nobody reads the whole branch for that.
    let tells = |entry: &&&Entry| {
        entry.kind() == EntryKind::Compaction || super::context::message_of(entry).is_some()
    };
    let has_messages = branch.iter().rev().find(tells).is_some();
    let has_level = branch.iter().any(|entry| entry.kind() == EntryKind::ThinkingLevelChange);
    let model = run.model.filter(|_| !has_messages).map(|(provider, model)| NewEntry::ModelChange {
        provider: provider.to_owned(),
        model_id: model.to_owned(),
    });
    let level = NewEntry::ThinkingLevelChange(run.thinking_level.to_owned());
    model.into_iter().chain((!has_messages || !has_level).then_some(level)).collect()
}

impl TranscriptFile {
    /// Steps off a question that was never answered, so that the prompt does not follow it directly: it
    /// stays in the file, off the branch. Tells whether there was one.
    pub fn leave_unanswered_question(&mut self) -> bool {
        let Some(leaf) = self.transcript().leaf() else { return false };
        if leaf.kind() != EntryKind::Message || leaf.role() != Some(Role::User) {
            return false;
        }
        let parent = leaf.parent_id().map(str::to_owned);
        if parent.is_none_or(|parent| self.move_leaf(&parent).is_err()) {
            self.reset_leaf();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::{Stamp, Transcript};

    /// A file of messages `id:role`, each below the one before it.
    fn file(messages: &str) -> String {
        let mut text = r#"{"type":"session","version":3,"id":"s"}"#.to_owned();
        let mut parent = "null".to_owned();
        for message in messages.split_whitespace() {
            let (id, role) = message.split_once(':').expect("id:role");
            let kind = if role == "level" { "thinking_level_change" } else { "message" };
            text.push_str(&format!(
                "\n{{\"type\":\"{kind}\",\"id\":\"{id}\",\"parentId\":{parent},\"message\":{{\"role\":\"{role}\"}}}}"
            ));
            parent = format!("\"{id}\"");
        }
        text
    }

    #[test]
    fn settings_are_noted_once() {
        let run = RunSettings { model: Some(("p", "m")), thinking_level: "low" };
        //  messages                  noted: model, level
        let table = [("", (1, 1)), ("a:level", (1, 1)), ("a:user", (0, 1)), ("a:level b:user", (0, 0))];
        for (messages, noted) in table {
            let transcript = Transcript::read(&file(messages)).expect("a header");
            let entries = opening_entries(&transcript.branch(), run);
            let models = entries.iter().filter(|entry| matches!(entry, NewEntry::ModelChange { .. })).count();
            assert_eq!((models, entries.len() - models), noted, "{messages}");
        }
        assert_eq!(opening_entries(&[], RunSettings { model: None, ..run }).len(), 1);
    }

    #[test]
    fn a_question_without_answer_is_left_beside_the_branch() {
        let table = [
            ("a:user b:assistant", false, Some("b")),
            ("a:user b:assistant c:user", true, Some("b")),
            ("a:user", true, None),
            ("", false, None),
        ];
        for (messages, left, leaf) in table {
            let mut fresh_id = || "id".to_owned();
            let mut stamp = Stamp { now: jiff::Timestamp::UNIX_EPOCH, fresh_id: &mut fresh_id };
            let (mut opened, _) = TranscriptFile::open(Some(&file(messages)), "/w", &mut stamp);
            assert_eq!(opened.leave_unanswered_question(), left, "{messages}");
            assert_eq!(opened.transcript().leaf_id(), leaf, "{messages}");
        }
    }
}
