//! Cutting a history too long for one summary into parts (`transcripts.md` §6.7).

use super::tokens::{estimate, estimate_all};
use crate::message::Message;

/// The share of the window that one part may fill, unless messages are large.
const BASE_CHUNK_RATIO: f64 = 0.4;
const MIN_CHUNK_RATIO: f64 = 0.15;
/// Estimates run low by up to a fifth.
const SAFETY_MARGIN: f64 = 1.2;
/// The parts that history over its share is split into, to drop the oldest.
const DEFAULT_PARTS: usize = 2;
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
    fn large_messages_make_smaller_chunks() {
        assert_eq!(adaptive_chunk_ratio(&messages(&[1]), 1000), 0.4);
        assert!((adaptive_chunk_ratio(&messages(&[100]), 1000) - 0.16).abs() < 1e-9);
        assert!((adaptive_chunk_ratio(&messages(&[100]), 0) - 0.15).abs() < 1e-9);
        assert!(is_oversized(&messages(&[100])[0], 239) && !is_oversized(&messages(&[100])[0], 240));
    }
}
