//! What a compaction summarises and what it keeps (`transcripts.md` §6.3).

use super::files::FileOperations;
use super::{Settings, cut, tokens};
use crate::message::Message;
use crate::transcript::context;
use crate::transcript::entry::{Entry, EntryKind};

#[derive(Clone, Debug, PartialEq)]
pub struct Preparation {
    /// The first entry that stays in the context.
    pub first_kept_entry_id: String,
    /// Whole turns to summarise.
    pub history: Vec<Message>,
    /// The beginning of the turn that the cut splits.
    pub turn_prefix: Vec<Message>,
    pub splits_turn: bool,
    pub tokens_before: f64,
    /// The summary to bring up to date.
    pub previous_summary: Option<String>,
    pub files: FileOperations,
    pub settings: Settings,
}

impl Preparation {
    /// Whether the compaction would leave everything as it is, e.g. because one huge tool result at
    /// the end fills the budget alone.
    pub fn summarizes_nothing(&self) -> bool {
        self.history.is_empty() && self.turn_prefix.is_empty()
    }
}

/// Prepares the compaction of a branch, from root to leaf; `None` if it was compacted just now or has no
/// entry to keep.
pub fn prepare(branch: &[&Entry], settings: &Settings) -> Option<Preparation> {
    if branch.last().is_some_and(|entry| entry.kind() == EntryKind::Compaction) {
        return None;
    }
    let previous = branch.iter().rposition(|entry| entry.kind() == EntryKind::Compaction);
    // Entries that the previous compaction had kept stand before it and are not summarised again.
    let start = previous.map_or(0, |at| at + 1);
    let cut = cut::find_cut_point(branch, start..branch.len(), settings.keep_recent_tokens);
    let first_kept_entry_id = branch.get(cut.first_kept)?.id().filter(|id| !id.is_empty())?.to_owned();

    let messages =
        |entries: &[&Entry]| entries.iter().filter_map(|entry| message_of(entry)).collect::<Vec<_>>();
    let history_end = cut.split_turn_start.unwrap_or(cut.first_kept);
    let history = messages(&branch[start..history_end]);
    let turn_prefix = messages(&branch[history_end..cut.first_kept]);

    let previous_entry = previous.map(|at| branch[at].object());
    let mut files = FileOperations::default();
    if let Some(entry) = &previous_entry {
        files.add_summary_entry(entry);
    }
    history.iter().chain(&turn_prefix).for_each(|message| files.add_message(message));

    Some(Preparation {
        first_kept_entry_id,
        tokens_before: tokens::estimate_context(&messages(&branch[previous.unwrap_or(0)..])).tokens(),
        history,
        turn_prefix,
        splits_turn: cut.split_turn_start.is_some(),
        previous_summary: previous_entry.and_then(|entry| Some(entry.get("summary")?.as_str()?.to_owned())),
        files,
        settings: *settings,
    })
}

/// The message an entry stands for: what it tells the model, and summaries of any kind.
pub(super) fn message_of(entry: &Entry) -> Option<Message> {
    match entry.kind() {
        EntryKind::Compaction => Some(context::compaction_summary(&entry.object(), entry.time())),
        // An empty summary tells the model nothing but has its place here.
        EntryKind::BranchSummary => context::message_of(entry).or_else(|| {
            let mut summary = Message::default();
            summary.set("role", "branchSummary");
            summary.set("summary", "");
            Some(summary)
        }),
        _ => context::message_of(entry),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Value;
    use crate::message::Role;
    use serde_json::json;

    fn path(list: &[Value]) -> Vec<Entry> {
        list.iter().map(|value| Entry::from_object(value.as_object().unwrap().clone())).collect()
    }

    fn said(id: &str, role: &str) -> Value {
        json!({"type": "message", "id": id, "message": {"role": role, "content": [{"type": "text", "text": "xxxxxxxx"}]}})
    }

    #[test]
    fn only_what_came_after_the_last_compaction_is_summarised() {
        let path = path(&[
            said("a", "user"),
            json!({"type": "compaction", "id": "b", "summary": "S", "details": {"readFiles": ["r"]}}),
            said("c", "user"),
            said("d", "assistant"),
            said("e", "user"),
            said("f", "assistant"),
        ]);
        let settings = Settings { keep_recent_tokens: 1, ..Settings::default() };
        let prepared = prepare(&path.iter().collect::<Vec<_>>(), &settings).unwrap();
        let roles = |messages: &[Message]| messages.iter().map(Message::role).collect::<Vec<_>>();
        assert_eq!(prepared.first_kept_entry_id, "f");
        assert_eq!(roles(&prepared.history), [Role::User, Role::Assistant]);
        assert_eq!(roles(&prepared.turn_prefix), [Role::User]);
        assert_eq!(prepared.previous_summary.as_deref(), Some("S"));
        assert_eq!(prepared.tokens_before, 9.0);
        assert_eq!(prepared.files.lists().read, ["r"]);
    }

    #[test]
    fn there_is_nothing_to_prepare_right_after_a_compaction_or_without_ids() {
        let settings = Settings::default();
        let compaction = json!({"type": "compaction", "id": "b", "summary": "S"});
        for list in [vec![], vec![said("a", "user"), compaction], vec![json!({"type": "message"})]] {
            let path = path(&list);
            assert_eq!(prepare(&path.iter().collect::<Vec<_>>(), &settings), None, "{list:?}");
        }
    }

    #[test]
    fn a_huge_last_result_leaves_nothing_to_summarise() {
        let mut result = said("c", "toolResult");
        result["message"]["content"][0]["text"] = Value::from("x".repeat(100_000));
        let path = path(&[said("a", "user"), said("b", "assistant"), result]);
        let prepared = prepare(&path.iter().collect::<Vec<_>>(), &Settings::default());
        assert!(prepared.unwrap().summarizes_nothing());
    }
}
