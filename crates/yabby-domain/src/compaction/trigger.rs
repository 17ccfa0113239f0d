//! When a conversation is compacted without being asked (`transcripts.md` §6.5).

use std::sync::LazyLock;

use regex::Regex;

use super::{Settings, is_due, tokens};
use crate::json::Value;
use crate::message::Message;
use crate::text;

/// When the last answer is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// After a run; one that the user aborted says nothing.
    AfterRun,
    BeforePrompt,
}

/// The model that is asked next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurrentModel<'m> {
    pub provider: &'m str,
    pub model: &'m str,
    /// In tokens; zero if unknown.
    pub context_window: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The request was too long: forget the failed answer, compact, and try again.
    Overflow,
    /// The context is nearly full: compact, and wait for the next prompt.
    Threshold,
}

/// Whether the last answer calls for a compaction. `first_compaction` is the time of the first one on
/// the branch: an overflow from before it has been dealt with.
pub fn trigger(
    answer: &Message,
    moment: Moment,
    current: CurrentModel<'_>,
    first_compaction: Option<f64>,
    settings: &Settings,
) -> Option<Trigger> {
    let was_aborted = answer.stop_reason() == Some("aborted");
    if !settings.enabled || (was_aborted && moment == Moment::AfterRun) {
        return None;
    }
    let by_current_model = answer.text_field("provider") == Some(current.provider)
        && answer.text_field("model") == Some(current.model);
    let answered_at = answer.get("timestamp").and_then(Value::as_f64);
    let dealt_with =
        first_compaction.zip(answered_at).is_some_and(|(compacted, answered)| answered < compacted);
    if by_current_model && !dealt_with && overflows(answer, current.context_window) {
        return Some(Trigger::Overflow);
    }
    let context = answer.get("usage").map_or(0.0, tokens::context_tokens);
    let failed = answer.stop_reason() == Some("error");
    (!failed && is_due(context, current.context_window, settings)).then_some(Trigger::Threshold)
}

/// Whether an answer tells that the request did not fit: by its error, or because the provider counted
/// more than the window holds and said nothing.
pub fn overflows(answer: &Message, context_window: u64) -> bool {
    match answer.stop_reason() {
        Some("error") => answer.text_field("errorMessage").is_some_and(tells_overflow),
        Some("stop") => {
            let count =
                |field| answer.get("usage").and_then(|usage| usage.get(field)?.as_f64()).unwrap_or(0.0);
            context_window > 0 && count("input") + count("cacheRead") > context_window as f64
        }
        _ => false,
    }
}

/// Whether these words of a provider mean that a request is too long.
pub fn tells_overflow(error: &str) -> bool {
    OVERFLOW.is_match(error)
}

/// What providers say about a request that is too long. The last two say it without words.
static OVERFLOW: LazyLock<Regex> = LazyLock::new(|| {
    let signs = [
        "prompt is too long",
        "input is too long for requested model",
        "exceeds the context window",
        "input token count.*exceeds the maximum",
        "maximum prompt length is [0-9]",
        "reduce the length of the messages",
        "maximum context length is [0-9]+ tokens",
        "exceeds the limit of [0-9]",
        "exceeds the available context size",
        "greater than the context length",
        "context window exceeds limit",
        "exceeded model token limit",
        "context[_ ]length[_ ]exceeded",
        "too many tokens",
        "token limit exceeded",
        r"^4(?:00|13)\s*(?:status code)?\s*\(no body\)",
    ];
    text::pattern(&format!("(?i){}", signs.join("|")))
});

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(stop_reason: &str, error: &str, tokens: u64) -> Message {
        let usage =
            json!({"input": tokens, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": tokens});
        let answer = json!({"role": "assistant", "provider": "p", "model": "m", "timestamp": 50,
            "stopReason": stop_reason, "errorMessage": error, "usage": usage});
        Message::from_value(answer).unwrap()
    }

    #[test]
    fn a_full_context_is_compacted_and_an_overflow_tried_again() {
        use Moment::{AfterRun, BeforePrompt};
        use Trigger::{Overflow, Threshold};
        const TOO_LONG: &str = "400: Prompt is too long: 213462 tokens > 200000 maximum";
        //  stop reason  error                          tokens   moment        compacted    trigger
        let table = [
            ("stop", "", 183_616, AfterRun, None, None),
            ("stop", "", 183_617, AfterRun, None, Some(Threshold)),
            ("stop", "", 200_001, AfterRun, None, Some(Overflow)),
            ("stop", "", 200_001, AfterRun, Some(51.0), Some(Threshold)),
            ("error", TOO_LONG, 0, AfterRun, None, Some(Overflow)),
            ("error", TOO_LONG, 0, AfterRun, Some(50.0), Some(Overflow)),
            ("error", TOO_LONG, 0, AfterRun, Some(51.0), None),
            ("error", "413 (no body)", 0, AfterRun, None, Some(Overflow)),
            ("error", "429 (no body)", 199_999, AfterRun, None, None),
            ("aborted", "", 199_999, AfterRun, None, None),
            ("aborted", "", 199_999, BeforePrompt, None, Some(Threshold)),
        ];
        let current = CurrentModel { provider: "p", model: "m", context_window: 200_000 };
        for (stop, error, tokens, moment, compacted, expected) in table {
            let answer = answer(stop, error, tokens);
            let found = trigger(&answer, moment, current, compacted, &Settings::default());
            assert_eq!(found, expected, "{stop} {error} {tokens} {moment:?} {compacted:?}");
            let off = Settings { enabled: false, ..Settings::default() };
            assert_eq!(trigger(&answer, moment, current, compacted, &off), None);
        }
        let other = CurrentModel { model: "n", ..current };
        assert_eq!(trigger(&answer("error", TOO_LONG, 0), AfterRun, other, None, &Settings::default()), None);
    }
}
