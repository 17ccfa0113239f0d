//! When to compact, where to cut and what the summary covers (`transcripts.md` §6).
//!
//! The rules only decide. [`prepare`] says what is summarised and what stays, [`summary`] turns that
//! into the model calls to make and puts their answers together; whoever talks to the model runs the
//! calls in between.

pub mod branch;
pub mod cut;
pub mod files;
pub mod prepare;
pub mod projected;
pub mod reserve;
pub mod safeguard;
pub mod summary;
pub mod tokens;
pub mod trigger;

/// What the user set under `compaction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub enabled: bool,
    /// Tokens kept free for the prompt and the answer.
    pub reserve_tokens: u64,
    /// Tokens of recent conversation that a compaction leaves as they are.
    pub keep_recent_tokens: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000 }
    }
}

/// Whether a context of `context_tokens` is too full for the window.
pub fn is_due(context_tokens: f64, context_window: u64, settings: &Settings) -> bool {
    // The reserve may exceed the window of a small model; then any context is too much.
    settings.enabled && context_tokens > context_window as f64 - settings.reserve_tokens as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compaction_is_due_above_the_window_less_the_reserve() {
        //  tokens     window   enabled  due
        let table = [
            (183_616.0, 200_000, true, false),
            (183_617.0, 200_000, true, true),
            (500_000.0, 200_000, false, false),
            (0.0, 8_192, true, true),
        ];
        for (tokens, window, enabled, due) in table {
            let settings = Settings { enabled, ..Settings::default() };
            assert_eq!(is_due(tokens, window, &settings), due, "{tokens} {window} {enabled}");
        }
    }
}
