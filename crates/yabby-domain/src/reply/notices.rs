//! What is told beside the reply: a new session, a compaction, an abort (`sessions.md` §9, §16, §17).

use super::payload::ReplyPayload;
use crate::model::ModelRef;

/// What is said in place of an answer without words.
pub const EMPTY_ANSWER: &str =
    "The model answered with nothing. Say it again, or choose another model with /model.";

/// The answer to a message without words, which is not run.
pub const NO_TEXT: &str = "I didn't receive any text in your message. Please resend or add a caption.";

/// Told where a reset came from: which model the new session has.
pub fn session_started(model: &ModelRef, default: &ModelRef) -> ReplyPayload {
    let default = if model == default { String::new() } else { format!(" (default: {default})") };
    ReplyPayload::from_text(format!("✅ New session started · model: {model}{default}"))
}

/// The answer to a message that aborts the run, and the runs that it had started.
pub fn aborted(stopped_subagents: usize) -> ReplyPayload {
    let stopped = match stopped_subagents {
        0 => String::new(),
        1 => " Stopped 1 sub-agent.".to_owned(),
        count => format!(" Stopped {count} sub-agents."),
    };
    ReplyPayload::from_text(format!("⚙️ Agent was aborted.{stopped}"))
}

/// Told in verbose sessions when a session begins.
pub fn new_session(session_id: &str) -> ReplyPayload {
    ReplyPayload::from_text(format!("🧭 New session: {session_id}"))
}

/// Told in verbose sessions when the history was compacted.
pub fn compacted(count: Option<u64>) -> ReplyPayload {
    let count = count.map(|count| format!(" (count {count})")).unwrap_or_default();
    ReplyPayload::from_text(format!("🧹 Auto-compaction complete{count}."))
}

/// Puts a line below the last text, or sends it alone if there is none.
pub fn append_line(payloads: &mut Vec<ReplyPayload>, line: &str) {
    let last =
        payloads.iter_mut().rev().find_map(|payload| payload.text.as_mut().filter(|text| !text.is_empty()));
    match last {
        Some(text) => {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(line);
        }
        None => payloads.push(ReplyPayload::from_text(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_and_an_abort_are_answered() {
        let (opus, gpt) = (ModelRef::new("anthropic", "opus"), ModelRef::new("openai", "gpt"));
        let table = [
            (session_started(&opus, &opus), "✅ New session started · model: anthropic/opus"),
            (
                session_started(&gpt, &opus),
                "✅ New session started · model: openai/gpt (default: anthropic/opus)",
            ),
            (new_session("abc"), "🧭 New session: abc"),
            (aborted(0), "⚙️ Agent was aborted."),
            (aborted(1), "⚙️ Agent was aborted. Stopped 1 sub-agent."),
            (aborted(2), "⚙️ Agent was aborted. Stopped 2 sub-agents."),
        ];
        for (payload, text) in table {
            assert_eq!(payload.text.as_deref(), Some(text));
        }
    }

    #[test]
    fn a_line_goes_below_the_last_text() {
        let media = ReplyPayload { media_url: Some("u".to_owned()), ..ReplyPayload::default() };
        let mut payloads = vec![compacted(Some(2)), media];
        append_line(&mut payloads, "Usage: 1 in / 2 out");
        assert_eq!(
            payloads[0].text.as_deref(),
            Some("🧹 Auto-compaction complete (count 2).\nUsage: 1 in / 2 out")
        );
        let mut nothing = Vec::new();
        append_line(&mut nothing, "x");
        assert_eq!(nothing, [ReplyPayload::from_text("x")]);
    }
}
