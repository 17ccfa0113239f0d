//! Where a compaction cuts the conversation (`transcripts.md` §6.2).

use std::ops::Range;

use super::tokens;
use crate::message::Role;
use crate::transcript::entry::{Entry, EntryKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutPoint {
    /// The first entry that stays.
    pub first_kept: usize,
    /// Where the turn begins that the cut splits; `None` if the cut falls between turns.
    pub split_turn_start: Option<usize>,
}

/// The cut that keeps about `keep_recent_tokens` of the entries in `range`.
///
/// Counts estimates backwards from the end until the budget is full, then cuts at the first place
/// from there on where a cut is allowed: never in front of a tool result, which needs its call.
pub fn find_cut_point(entries: &[&Entry], range: Range<usize>, keep_recent_tokens: u64) -> CutPoint {
    let start = range.start;
    let end = range.end.min(entries.len());
    let allowed: Vec<usize> = (start..end).filter(|at| may_cut_before(entries[*at])).collect();
    let Some(first_allowed) = allowed.first().copied() else {
        return CutPoint { first_kept: start, split_turn_start: None };
    };
    let cut = budget_reached_at(entries, start..end, keep_recent_tokens)
        .and_then(|full| allowed.iter().copied().find(|at| *at >= full))
        .unwrap_or(first_allowed);
    let first_kept = before_settings(entries, start, cut);
    let begins_a_turn = is_message_of(entries[first_kept], &[Role::User]);
    let split_turn_start = if begins_a_turn { None } else { find_turn_start(entries, first_kept, start) };
    CutPoint { first_kept, split_turn_start }
}

/// The entry that starts the turn `at` belongs to, looking back no further than `start`.
pub fn find_turn_start(entries: &[&Entry], at: usize, start: usize) -> Option<usize> {
    let last = at.min(entries.len().checked_sub(1)?);
    (start..=last).rev().find(|at| {
        let entry = entries[*at];
        is_user_side_entry(entry) || is_message_of(entry, &[Role::User, Role::BashExecution])
    })
}

fn may_cut_before(entry: &Entry) -> bool {
    use Role::{Assistant, BashExecution, BranchSummary, CompactionSummary, Custom, User};
    is_user_side_entry(entry)
        || is_message_of(entry, &[User, Assistant, Custom, BashExecution, BranchSummary, CompactionSummary])
}

fn is_user_side_entry(entry: &Entry) -> bool {
    matches!(entry.kind(), EntryKind::BranchSummary | EntryKind::CustomMessage)
}

fn is_message_of(entry: &Entry, roles: &[Role]) -> bool {
    entry.kind() == EntryKind::Message && entry.role().is_some_and(|role| roles.contains(&role))
}

/// The entry, counted from the end, at which the messages fill the budget.
fn budget_reached_at(entries: &[&Entry], range: Range<usize>, budget: u64) -> Option<usize> {
    let mut sum = 0;
    range.rev().filter(|at| entries[*at].kind() == EntryKind::Message).find(|at| {
        sum += entries[*at].message().map_or(0, |message| tokens::estimate(&message));
        sum >= budget
    })
}

/// The cut, moved back over settings and other entries that are no messages.
fn before_settings(entries: &[&Entry], start: usize, cut: usize) -> usize {
    let is_boundary = |entry: &&Entry| matches!(entry.kind(), EntryKind::Message | EntryKind::Compaction);
    let boundary = entries[start..cut].iter().rposition(is_boundary);
    boundary.map_or(start, |at| start + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Value;
    use serde_json::json;

    fn entries(list: &[Value]) -> Vec<Entry> {
        list.iter().map(|value| Entry::from_object(value.as_object().unwrap().clone())).collect()
    }

    fn message(role: &str, chars: usize) -> Value {
        let text = json!([{"type": "text", "text": "x".repeat(chars)}]);
        json!({"type": "message", "message": {"role": role, "content": text}})
    }

    #[test]
    fn the_cut_keeps_results_with_their_call_and_settings_with_their_turn() {
        let list = entries(&[
            message("user", 40),
            message("assistant", 40),
            message("toolResult", 40),
            json!({"type": "model_change"}),
            message("user", 40),
            message("assistant", 40),
        ]);
        //  keep  first kept  split turn start
        let table = [
            (1, 5, Some(4)),
            (20, 3, Some(0)), // lands on the settings in front of the user message
            (21, 3, Some(0)), // reached at the tool result: the next allowed place
            (35, 1, Some(0)),
            (50, 0, None),
            (9999, 0, None),
        ];
        for (keep, first_kept, split_turn_start) in table {
            let cut = find_cut_point(&list.iter().collect::<Vec<_>>(), 0..list.len(), keep);
            assert_eq!(cut, CutPoint { first_kept, split_turn_start }, "{keep}");
        }
    }

    #[test]
    fn nothing_to_cut_keeps_the_start() {
        let list = entries(&[message("toolResult", 40)]);
        for range in [0..0, 0..1, 0..9, 5..9] {
            let cut = find_cut_point(&list.iter().collect::<Vec<_>>(), range.clone(), 1);
            assert_eq!(cut, CutPoint { first_kept: range.start, split_turn_start: None }, "{range:?}");
        }
        assert_eq!(find_turn_start(&[], 3, 0), None);
    }
}
