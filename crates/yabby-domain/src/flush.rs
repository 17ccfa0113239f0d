//! When the pre-compaction memory flush runs, and with which words (`sessions.md` §14).

use crate::config::Config;
use crate::config::number::NonNegativeInteger;
use crate::reply::tokens::SILENT_TOKEN;
use crate::session::entry::{Patch, SessionEntry};
use crate::text;
use crate::usage::compacted;

pub const DEFAULT_PROMPT: &str = "Pre-compaction memory flush. Store durable memories now (use memory/YYYY-MM-DD.md; create memory/ if needed). If nothing to store, reply with NO_REPLY.";
pub const DEFAULT_SYSTEM_PROMPT: &str = "Pre-compaction memory flush turn. The session is near auto-compaction; capture durable memories to disk. You may reply, but usually NO_REPLY is correct.";
pub const DEFAULT_SOFT_TOKENS: f64 = 4000.0;
pub const DEFAULT_RESERVE_FLOOR: f64 = 20_000.0;
pub const DEFAULT_CONTEXT_TOKENS: f64 = 200_000.0;

/// The flush as configured.
#[derive(Clone, Debug, PartialEq)]
pub struct FlushSettings {
    pub soft_tokens: f64,
    pub reserve_floor: f64,
    pub prompt: String,
    pub system_prompt: String,
}

/// How much of the context window may be used before a flush.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlushBudget {
    pub context_window: f64,
    pub reserve: f64,
    pub soft_margin: f64,
}

impl FlushSettings {
    /// `None` if flushing is switched off.
    pub fn from_config(config: &Config) -> Option<Self> {
        let compaction = &config.agents.defaults.compaction;
        let flush = &compaction.memory_flush;
        if !flush.enabled() {
            return None;
        }
        let words = |own: &Option<String>, default: &str| {
            with_silent_hint(own.as_deref().and_then(text::non_blank).unwrap_or(default))
        };
        let tokens = |written: Option<NonNegativeInteger>| {
            written
                .map(f64::from)
                .filter(|tokens| tokens.is_finite() && tokens.floor() >= 0.0)
                .map(f64::floor)
        };
        Some(Self {
            soft_tokens: tokens(flush.soft_threshold_tokens).unwrap_or(DEFAULT_SOFT_TOKENS),
            reserve_floor: tokens(compaction.reserve_tokens_floor).unwrap_or(DEFAULT_RESERVE_FLOOR),
            prompt: words(&flush.prompt, DEFAULT_PROMPT),
            system_prompt: words(&flush.system_prompt, DEFAULT_SYSTEM_PROMPT),
        })
    }

    /// How full a window may be. The margins of a large model must not eat up the window of a small one.
    pub fn budget(&self, context_window: f64) -> FlushBudget {
        FlushBudget {
            context_window,
            reserve: self.reserve_floor.min(context_window / 2.0),
            soft_margin: self.soft_tokens.min(context_window / 8.0),
        }
    }
}

/// How much the model can read at once: what the catalogue knows of it, else what is configured for
/// all agents, else the default.
pub fn context_window(of_model: Option<f64>, config: &Config) -> f64 {
    let configured = || config.agents.defaults.context_tokens.map(f64::from);
    of_model.or_else(configured).unwrap_or(DEFAULT_CONTEXT_TOKENS)
}

/// The turn that a flush would run before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushTurn {
    pub is_heartbeat: bool,
    /// The model is a program that keeps its own context, see [`crate::model::is_cli_provider`].
    pub is_cli_provider: bool,
    /// The session is in a sandbox that may not write the workspace.
    pub workspace_is_read_only: bool,
}

impl FlushTurn {
    /// Whether a flush before the turn could do any good.
    pub fn can_flush(self) -> bool {
        !self.is_heartbeat && !self.is_cli_provider && !self.workspace_is_read_only
    }
}

/// Words that do not mention the silent token are told about it.
pub fn with_silent_hint(words: &str) -> String {
    if words.contains(SILENT_TOKEN) {
        return words.to_owned();
    }
    format!("{words}\n\nIf no user-visible reply is needed, start with {SILENT_TOKEN}.")
}

impl FlushBudget {
    /// The number of prompt tokens from which a flush is due; 0 means never.
    pub fn threshold(&self) -> f64 {
        let window = self.context_window.floor().max(1.0);
        (window - self.reserve.floor().max(0.0) - self.soft_margin.floor().max(0.0)).max(0.0)
    }
}

/// Whether the flush should run before a turn whose prompt takes so many tokens.
pub fn flush_is_due(entry: &SessionEntry, tokens: f64, budget: &FlushBudget) -> bool {
    let threshold = budget.threshold();
    let near_the_limit = tokens > 0.0 && threshold > 0.0 && tokens >= threshold;
    near_the_limit && !flushed_this_cycle(entry)
}

/// Whether there was a flush since the last compaction: the record remembers the count of compactions at its last
/// flush, so that the flush stays quiet until the next compaction moves the count.
pub fn flushed_this_cycle(entry: &SessionEntry) -> bool {
    entry.memory_flush_compaction_count() == Some(entry.compaction_count().unwrap_or(0.0))
}

/// What a finished flush leaves in the record, whether or not it wrote anything. Where the history was
/// compacted during the flush, that counts first.
pub fn flushed(entry: &SessionEntry, was_compacted: bool, now: f64) -> Patch {
    let mut patch = if was_compacted { compacted(entry, now, None) } else { Patch::default() };
    let count = entry.compaction_count().unwrap_or(0.0) + if was_compacted { 1.0 } else { 0.0 };
    patch.set_memory_flush_at(Some(now));
    patch.set_memory_flush_compaction_count(Some(count));
    patch
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn flush_once_per_compaction_cycle() {
        let budget = FlushBudget { context_window: 100_000.0, reserve: 5_000.0, soft_margin: 4_000.0 };
        //  tokens  count  flushed at  due
        let table = [
            (90_999, 0, None, false),
            (91_000, 0, None, true),
            (91_000, 0, Some(0), false),
            (91_000, 1, Some(0), true),
        ];
        for (tokens, count, flushed_at, due) in table {
            let entry = json!({"totalTokens": tokens, "compactionCount": count, "memoryFlushCompactionCount": flushed_at});
            let entry = SessionEntry::new(entry.as_object().unwrap().clone());
            assert_eq!(
                flush_is_due(&entry, f64::from(tokens), &budget),
                due,
                "{tokens} {count} {flushed_at:?}"
            );
        }
    }

    #[test]
    fn a_flush_remembers_the_cycle_it_ran_in() {
        let entry = SessionEntry::new(json!({"compactionCount": 2}).as_object().unwrap().clone());
        for (was_compacted, count) in [(false, 2.0), (true, 3.0)] {
            let mut after = entry.clone();
            after.apply(&flushed(&entry, was_compacted, 9.0));
            assert_eq!(after.memory_flush_at(), Some(9.0));
            assert_eq!(after.compaction_count(), Some(count));
            assert_eq!(after.memory_flush_compaction_count(), Some(count));
        }
    }

    #[test]
    fn a_flush_needs_a_turn_and_a_place_to_write() {
        let turn = FlushTurn::default();
        assert!(turn.can_flush());
        assert!(!FlushTurn { is_heartbeat: true, ..turn }.can_flush());
        assert!(!FlushTurn { is_cli_provider: true, ..turn }.can_flush());
        assert!(!FlushTurn { workspace_is_read_only: true, ..turn }.can_flush());

        let config = Config::new(json!({"agents": {"defaults": {"contextTokens": 5}}}));
        assert_eq!(context_window(Some(9.0), &config), 9.0);
        assert_eq!(context_window(None, &config), 5.0);
        assert_eq!(context_window(None, &Config::default()), DEFAULT_CONTEXT_TOKENS);
    }

    #[test]
    fn the_model_always_knows_how_to_stay_silent() {
        let config = Config::new(
            json!({"agents": {"defaults": {"compaction": {"memoryFlush": {"prompt": " Save! "}}}}}),
        );
        let settings = FlushSettings::from_config(&config).unwrap();
        assert_eq!(settings.prompt, "Save!\n\nIf no user-visible reply is needed, start with NO_REPLY.");
        assert_eq!(settings.system_prompt, DEFAULT_SYSTEM_PROMPT);
        let off =
            Config::new(json!({"agents": {"defaults": {"compaction": {"memoryFlush": {"enabled": false}}}}}));
        assert_eq!(FlushSettings::from_config(&off), None);
    }
}
