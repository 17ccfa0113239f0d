//! The summary of a branch that the conversation leaves (`transcripts.md` §6.6).

use std::collections::HashSet;

use super::files::{FileLists, FileOperations};
use super::prepare::message_of;
use super::summary::{Focus, Reasoning, SummaryCall, SummaryKind, conversation};
use super::tokens;
use crate::message::{Message, Role};
use crate::transcript::entry::{Entry, EntryId, EntryKind};

const DEFAULT_CONTEXT_WINDOW: u64 = 128_000;
const MAX_ANSWER_TOKENS: u64 = 2048;
const PREAMBLE: &str = "The user explored a different conversation branch before returning here.\n\
    Summary of that exploration:\n\n";
const NOTHING: &str = "No content to summarize";

/// The entries that are only on the old path, i.e. below the deepest entry that both paths share.
/// Both run from the root.
pub fn abandoned<'b, 'e>(old_path: &'b [&'e Entry], target_path: &[&Entry]) -> &'b [&'e Entry] {
    let on_target: HashSet<&EntryId> = target_path.iter().filter_map(|entry| entry.key()).collect();
    let shared = old_path.iter().rposition(|entry| entry.key().is_some_and(|id| on_target.contains(id)));
    &old_path[shared.map_or(0, |at| at + 1)..]
}

/// The newest part of a branch that fits the budget, and all files the branch touched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BranchPreparation {
    pub messages: Vec<Message>,
    pub tokens: u64,
    pub files: FileOperations,
}

/// Takes messages from the newest back until `budget` tokens are spent; `None` takes them all.
///
/// Tool results are left out, their call says enough. A summary that no longer fits is taken all the
/// same while a tenth of the budget is free: it stands for much more than itself.
pub fn prepare(entries: &[&Entry], budget: Option<u64>) -> BranchPreparation {
    let mut prepared = BranchPreparation::default();
    for entry in entries.iter().filter(|entry| entry.kind() == EntryKind::BranchSummary) {
        prepared.files.add_summary_entry(&entry.object());
    }
    for entry in entries.iter().rev() {
        let Some(message) = message_of(entry).filter(|_| !is_tool_result(entry)) else {
            continue;
        };
        prepared.files.add_message(&message);
        let tokens = tokens::estimate(&message);
        let over_budget = budget.filter(|budget| prepared.tokens + tokens > *budget);
        let is_summary = matches!(entry.kind(), EntryKind::Compaction | EntryKind::BranchSummary);
        if over_budget.is_none_or(|budget| is_summary && (prepared.tokens as f64) < budget as f64 * 0.9) {
            prepared.messages.push(message);
            prepared.tokens += tokens;
        }
        if over_budget.is_some() {
            break;
        }
    }
    prepared.messages.reverse();
    prepared
}

fn is_tool_result(entry: &Entry) -> bool {
    entry.kind() == EntryKind::Message && entry.role() == Some(Role::ToolResult)
}

/// What a branch summary may use; no limit if the reserve is all there is.
pub fn token_budget(context_window: Option<u64>, reserve_tokens: u64) -> Option<u64> {
    let window = context_window.filter(|window| *window > 0).unwrap_or(DEFAULT_CONTEXT_WINDOW);
    window.checked_sub(reserve_tokens).filter(|budget| *budget > 0)
}

#[derive(Clone, Debug, PartialEq)]
pub struct BranchSummary {
    pub summary: String,
    pub files: FileLists,
}

impl BranchPreparation {
    /// The call to make; `None` if the branch holds nothing to tell.
    pub fn call(&self, focus: Focus) -> Option<SummaryCall> {
        (!self.messages.is_empty()).then(|| SummaryCall {
            kind: SummaryKind::Branch,
            material: conversation(&self.messages),
            focus,
            max_tokens: MAX_ANSWER_TOKENS,
            reasoning: Reasoning::Unset,
        })
    }

    /// The summary that the answer makes; `None` where no call was made.
    pub fn assemble(&self, answer: Option<&str>) -> BranchSummary {
        let Some(answer) = answer else {
            return BranchSummary { summary: NOTHING.to_owned(), files: FileLists::default() };
        };
        let files = self.files.lists();
        BranchSummary { summary: format!("{PREAMBLE}{answer}{}", files.sections()), files }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Value;
    use serde_json::json;

    fn entries(list: &[Value]) -> Vec<Entry> {
        list.iter().map(|value| Entry::from_object(value.as_object().unwrap().clone())).collect()
    }

    fn said(id: &str, role: &str) -> Value {
        json!({"type": "message", "id": id, "message": {"role": role, "content": [{"type": "text", "text": "xxxxxxxx"}]}})
    }

    #[test]
    fn a_branch_ends_where_both_paths_meet() {
        let old = entries(&[said("a", "user"), said("b", "assistant"), said("c", "user")]);
        let target = entries(&[said("a", "user"), said("x", "assistant")]);
        let (old, target): (Vec<&Entry>, Vec<&Entry>) = (old.iter().collect(), target.iter().collect());
        let ids = |entries: &[&Entry]| entries.iter().filter_map(|entry| entry.id()).collect::<String>();
        assert_eq!(ids(abandoned(&old, &target)), "bc");
        assert_eq!(ids(abandoned(&old, &[])), "abc");
        assert_eq!(ids(abandoned(&old, &old)), "");
    }

    #[test]
    fn the_budget_is_spent_on_the_newest_messages() {
        let list = entries(&[
            json!({"type": "compaction", "summary": "s".repeat(400)}),
            said("b", "toolResult"),
            said("c", "user"),
            said("d", "assistant"),
        ]);
        //  budget  messages  tokens
        let table = [(None, 3, 104), (Some(2), 1, 2), (Some(4), 2, 4), (Some(5), 3, 104)];
        for (budget, count, tokens) in table {
            let prepared = prepare(&list.iter().collect::<Vec<_>>(), budget);
            assert_eq!((prepared.messages.len(), prepared.tokens), (count, tokens), "{budget:?}");
        }
        assert_eq!(token_budget(None, 16_384), Some(111_616));
        assert_eq!(token_budget(Some(8_000), 16_384), None);
    }

    #[test]
    fn an_empty_branch_asks_nothing_of_the_model() {
        let prepared = prepare(&[], None);
        assert_eq!(prepared.call(Focus::None), None);
        assert_eq!(prepared.assemble(None).summary, "No content to summarize");
        assert!(prepared.assemble(Some("S")).summary.ends_with("exploration:\n\nS"));
    }
}
