//! Cutting a history too long for one summary into parts (`transcripts.md` §6.7).

use super::prepare::Preparation;
use super::tokens::{estimate, estimate_all};
use crate::config::Config;
use crate::config::agents::compaction::CompactionMode;
use crate::json::Value;
use crate::message::Message;

/// How a history that is too long for one summary is dealt with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// One summary of it all.
    #[default]
    Default,
    /// Summaries of its parts, and a word about what cannot be read.
    Safeguard,
}

impl Mode {
    pub fn from_config(config: &Config) -> Self {
        match config.agents.defaults.compaction.mode {
            Some(CompactionMode::Safeguard) => Self::Safeguard,
            Some(CompactionMode::Default) | None => Self::Default,
        }
    }
}

/// The share of the window that history may fill, as configured.
pub fn history_share(config: &Config) -> f64 {
    let share = config.agents.defaults.compaction.max_history_share.map(f64::from);
    share.filter(|share| (0.1..=0.9).contains(share)).unwrap_or(DEFAULT_HISTORY_SHARE)
}

/// The share of the window that one part may fill, unless messages are large.
const BASE_CHUNK_RATIO: f64 = 0.4;
const MIN_CHUNK_RATIO: f64 = 0.15;
/// Estimates run low by up to a fifth.
const SAFETY_MARGIN: f64 = 1.2;
/// The parts that history over its share is split into, to drop the oldest.
const DEFAULT_PARTS: usize = 2;
/// Fewer messages are not split.
const LEAST_TO_SPLIT: usize = 4;
/// The share of the window that history may fill, unless configured.
pub const DEFAULT_HISTORY_SHARE: f64 = 0.5;

/// Up to `parts` stretches of about equal token count.
pub fn split_by_token_share(messages: &[Message], parts: usize) -> Vec<&[Message]> {
    let parts = parts.clamp(1, messages.len().max(1));
    let target = estimate_all(messages) as f64 / parts as f64;
    let mut chunks = Vec::new();
    let (mut from, mut sum) = (0, 0);
    for (at, message) in messages.iter().enumerate() {
        let tokens = estimate(message);
        let is_full = at > from && (sum + tokens) as f64 > target;
        if is_full && chunks.len() + 1 < parts {
            chunks.push(&messages[from..at]);
            (from, sum) = (at, 0);
        }
        sum += tokens;
    }
    if from < messages.len() {
        chunks.push(&messages[from..]);
    }
    chunks
}

/// Stretches of at most `max_tokens`; a message beyond that closes its stretch.
pub fn chunk_by_max_tokens(messages: &[Message], max_tokens: u64) -> Vec<&[Message]> {
    let mut chunks = Vec::new();
    let (mut from, mut sum) = (0, 0);
    for (at, message) in messages.iter().enumerate() {
        let tokens = estimate(message);
        if at > from && sum + tokens > max_tokens {
            chunks.push(&messages[from..at]);
            (from, sum) = (at, 0);
        }
        sum += tokens;
        if tokens > max_tokens {
            chunks.push(&messages[from..=at]);
            (from, sum) = (at + 1, 0);
        }
    }
    if from < messages.len() {
        chunks.push(&messages[from..]);
    }
    chunks
}

/// The share of the window for one part: smaller where the average message takes more than a tenth.
pub fn adaptive_chunk_ratio(messages: &[Message], context_window: u64) -> f64 {
    if messages.is_empty() {
        return BASE_CHUNK_RATIO;
    }
    let average = estimate_all(messages) as f64 / messages.len() as f64;
    let share = average * SAFETY_MARGIN / context_window as f64;
    if share > 0.1 {
        let reduction = (share * 2.0).min(BASE_CHUNK_RATIO - MIN_CHUNK_RATIO);
        return (BASE_CHUNK_RATIO - reduction).max(MIN_CHUNK_RATIO);
    }
    BASE_CHUNK_RATIO
}

/// Whether one message alone is too large to be summarised.
pub fn is_oversized(message: &Message, context_window: u64) -> bool {
    estimate(message) as f64 * SAFETY_MARGIN > context_window as f64 * 0.5
}

/// What is left of a history that may fill only a share of the window.
#[derive(Clone, Debug, PartialEq)]
pub struct SharePruning<'m> {
    pub kept: &'m [Message],
    pub dropped: &'m [Message],
    /// How often an oldest part had to go.
    pub rounds: usize,
    pub dropped_tokens: u64,
    pub kept_tokens: u64,
    pub budget_tokens: u64,
}

/// Drops the older half, again and again, until the rest fits `share` of the window or is one part.
pub fn prune_to_share(messages: &[Message], context_tokens: u64, share: f64) -> SharePruning<'_> {
    let budget_tokens = (context_tokens as f64 * share).floor().max(1.0) as u64;
    let (mut from, mut rounds, mut dropped_tokens) = (0, 0, 0);
    while estimate_all(&messages[from..]) > budget_tokens {
        let chunks = split_by_token_share(&messages[from..], DEFAULT_PARTS);
        let [oldest, _, ..] = chunks.as_slice() else {
            break;
        };
        from += oldest.len();
        rounds += 1;
        dropped_tokens += estimate_all(oldest);
    }
    let (dropped, kept) = messages.split_at(from);
    SharePruning { kept, dropped, rounds, dropped_tokens, kept_tokens: estimate_all(kept), budget_tokens }
}

/// How many tokens of these messages one request may hold.
pub fn chunk_tokens(messages: &[Message], context_window: u64) -> u64 {
    let share = adaptive_chunk_ratio(messages, context_window);
    ((context_window as f64 * share).floor() as u64).max(1)
}

/// The stretches that are summarised each for itself, if what they come to is more than a request may hold.
pub fn stages(messages: &[Message], chunk_tokens: u64) -> Vec<&[Message]> {
    if messages.len() < LEAST_TO_SPLIT || estimate_all(messages) <= chunk_tokens {
        return vec![messages];
    }
    split_by_token_share(messages, DEFAULT_PARTS)
}

/// What of a history must go, because the part that is kept as it is leaves no room for all of it.
pub fn crowded_out(prepared: &Preparation, context_window: u64, share: f64) -> Option<SharePruning<'_>> {
    let summarized = estimate_all(&prepared.history) + estimate_all(&prepared.turn_prefix);
    let kept = (prepared.tokens_before - summarized as f64).floor().max(0.0);
    let most = (context_window as f64 * share * SAFETY_MARGIN).floor();
    let pruned = (kept > most).then(|| prune_to_share(&prepared.history, context_window, share));
    pruned.filter(|pruned| !pruned.dropped.is_empty())
}

/// Messages without those that are too large to be summarised, and a line for each that was left out.
pub fn without_oversized(messages: &[Message], context_window: u64) -> (Vec<Message>, Vec<String>) {
    let (mut small, mut notes) = (Vec::new(), Vec::new());
    for message in messages {
        if is_oversized(message, context_window) {
            let role = message.get("role").and_then(Value::as_str).unwrap_or("message");
            let thousands = (estimate(message) as f64 / 1000.0).round();
            notes.push(format!("[Large {role} (~{thousands}K tokens) omitted from summary]"));
        } else {
            small.push(message.clone());
        }
    }
    (small, notes)
}

/// What stands in the place of a summary that could not be written, since the model could not read what it is of.
pub fn unavailable(messages: usize, oversized: usize) -> String {
    format!(
        "{messages} messages ({oversized} of them too large) stood here, and could not be read for a summary; they are \
         in the transcript."
    )
}

/// What the model is told when it makes one summary of several.
pub fn merging(focus: Option<&str>) -> String {
    const MERGING: &str = "The messages above are summaries of consecutive parts of one conversation. Make one \
        summary of them: keep decisions, open questions, what is still to be done, and every limit.";
    match focus.filter(|focus| !focus.is_empty()) {
        Some(focus) => format!("{MERGING}\n\n{focus}"),
        None => MERGING.to_owned(),
    }
}

/// Summaries of parts as messages, of which one summary is made.
pub fn partial_summaries(summaries: Vec<String>) -> Vec<Message> {
    let message = |summary: String| {
        let mut message = Message::default();
        message.set("role", "user");
        message.set("content", summary);
        message
    };
    summaries.into_iter().map(message).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(tokens: &[usize]) -> Vec<Message> {
        let message = |tokens: &usize| {
            Message::from_value(json!({"role": "user", "content": "x".repeat(tokens * 4)})).unwrap()
        };
        tokens.iter().map(message).collect()
    }

    fn sizes(chunks: &[&[Message]]) -> Vec<usize> {
        chunks.iter().map(|chunk| chunk.len()).collect()
    }

    #[test]
    fn parts_share_the_tokens_and_chunks_respect_the_maximum() {
        let list = messages(&[100, 10, 10, 100, 20]);
        assert_eq!(sizes(&split_by_token_share(&list, 2)), [3, 2]);
        assert_eq!(sizes(&split_by_token_share(&list, 3)), [1, 2, 2]);
        assert_eq!(sizes(&split_by_token_share(&list, 0)), [5]);
        assert_eq!(sizes(&split_by_token_share(&[], 3)), [0; 0]);
        assert_eq!(sizes(&chunk_by_max_tokens(&list, 50)), [1, 2, 1, 1]);
        assert_eq!(sizes(&chunk_by_max_tokens(&list, 120)), [3, 2]);
    }

    #[test]
    fn history_over_its_share_loses_its_oldest_parts() {
        let list = messages(&[100, 10, 10, 100, 20]);
        let pruned = prune_to_share(&list, 100, DEFAULT_HISTORY_SHARE);
        assert_eq!((pruned.kept.len(), pruned.rounds, pruned.dropped_tokens), (1, 2, 220));
        assert_eq!((pruned.kept_tokens, pruned.budget_tokens), (20, 50));
        let single = messages(&[100]);
        assert_eq!(prune_to_share(&single, 1, 0.5).kept.len(), 1);
    }

    #[test]
    fn what_is_too_long_for_a_request_is_summarised_in_stages() {
        let list = messages(&[100, 10, 10, 100, 20]);
        assert_eq!(sizes(&stages(&list, 240)), [5]);
        assert_eq!(sizes(&stages(&list, 239)), [3, 2]);
        assert_eq!(sizes(&stages(&list[..3], 1)), [3], "a few messages are not split");
        assert_eq!(chunk_tokens(&messages(&[1]), 1000), 400);
    }

    #[test]
    fn a_message_that_is_too_large_leaves_a_note() {
        let (small, notes) = without_oversized(&messages(&[100, 10]), 200);
        assert_eq!(small, messages(&[10]));
        assert_eq!(notes, ["[Large user (~0K tokens) omitted from summary]"]);
    }

    #[test]
    fn the_mode_and_the_share_are_as_configured() {
        let read = |compaction: Value| {
            let config = Config::new(json!({"agents": {"defaults": {"compaction": compaction}}}));
            (Mode::from_config(&config), history_share(&config))
        };
        assert_eq!(read(json!({})), (Mode::Default, 0.5));
        assert_eq!(read(json!({"mode": "safeguard", "maxHistoryShare": 0.3})), (Mode::Safeguard, 0.3));
        assert_eq!(read(json!({"mode": "other", "maxHistoryShare": 2})), (Mode::Default, 0.5));
    }

    #[test]
    fn large_messages_make_smaller_chunks() {
        assert_eq!(adaptive_chunk_ratio(&messages(&[1]), 1000), 0.4);
        assert!((adaptive_chunk_ratio(&messages(&[100]), 1000) - 0.16).abs() < 1e-9);
        assert!((adaptive_chunk_ratio(&messages(&[100]), 0) - 0.15).abs() < 1e-9);
        assert!(is_oversized(&messages(&[100])[0], 239) && !is_oversized(&messages(&[100])[0], 240));
    }
}
