//! Going on with a turn after a crash: how far did it come in the transcript?

use yabby_domain::json::Value;
use yabby_domain::message::{Message, Role};
use yabby_domain::repair::answered_id;
use yabby_domain::seam::tool::Effect;
use yabby_domain::transcript::tree::Transcript;
use yabby_domain::turn::Progress;

use super::answer::{self, Call};
use super::tools::interrupted;

/// What the transcript says about a question.
pub(crate) enum Standing {
    /// It is not there: nothing was done for it.
    Unasked,
    /// It was answered; these are the agent's messages since.
    Answered(Vec<Message>),
    /// The agent was at work. These results stand in for those that were lost.
    Underway { answers: Vec<Message>, results: Vec<Message> },
}

/// Looks for the question that was asked at this time.
pub(crate) fn standing(
    transcript: &Transcript,
    asked_at: i64,
    progress: &Progress,
    effect: impl Fn(&str) -> Option<Effect>,
    now: i64,
) -> Standing {
    let Some(since) = self::asked_at(transcript, asked_at) else { return Standing::Unasked };
    let answers: Vec<Message> =
        since.iter().filter(|message| message.role() == Role::Assistant).cloned().collect();
    let Some(last) = since.iter().rposition(|message| message.role() == Role::Assistant) else {
        return Standing::Underway { answers, results: Vec::new() };
    };
    let calls = answer::calls(&since[last]);
    let given: Vec<&str> = since[last + 1..].iter().filter_map(answered_id).collect();
    let lost: Vec<&Call> = calls.iter().filter(|call| !given.contains(&call.id.as_str())).collect();
    let failed = since[last].stop_reason() == Some("error");
    if calls.is_empty() && !failed && last + 1 == since.len() {
        return Standing::Answered(answers);
    }
    let stand_in = |call: &&Call| {
        interrupted(
            call,
            progress.tools.get(&call.id).copied(),
            effect(&call.name).unwrap_or(Effect::Lasting),
            now,
        )
    };
    Standing::Underway { answers, results: lost.iter().map(stand_in).collect() }
}

/// What was said since the question that was asked at this time, if it was asked.
pub(crate) fn asked_at(transcript: &Transcript, at: i64) -> Option<Vec<Message>> {
    let messages: Vec<Message> = transcript.branch().iter().filter_map(|entry| entry.message()).collect();
    let is_question = |message: &Message| {
        message.role() == Role::User && message.get("timestamp").and_then(Value::as_i64) == Some(at)
    };
    let asked = messages.iter().rposition(is_question)?;
    Some(messages[asked + 1..].to_vec())
}
