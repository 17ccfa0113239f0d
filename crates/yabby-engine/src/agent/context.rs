//! What the model is told: any transcript, whatever happened to it, as a request that the provider takes
//! (`transcripts.md` §5, §8).

use jiff::Timestamp;
use yabby_domain::compaction::tokens::estimate;
use yabby_domain::config::Config;
use yabby_domain::history_limit::{dm_limit, limit_turns};
use yabby_domain::json::Value;
use yabby_domain::message::{Message, Role};
use yabby_domain::provider_rules::make_acceptable;
use yabby_domain::pruning;
use yabby_domain::sanitize::policy::TranscriptPolicy;
use yabby_domain::sanitize::{CustomEntry, join_turns, sanitize};
use yabby_domain::text;
use yabby_domain::transcript::tree::{NewEntry, Transcript};

use super::model::ModelChoice;

/// How much of a conversation is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// Only the ends of tool results: the request was too long even after a compaction.
    Trimmed,
    /// No more than the last so many tokens, and only the ends of long messages.
    Recent(u64),
}

pub(crate) struct Told {
    pub(crate) messages: Vec<Message>,
    /// What the transcript is to remember about this request.
    pub(crate) to_append: Vec<NewEntry>,
}

/// The messages of a request: the conversation, and `pending` behind it.
pub(crate) fn told(
    transcript: &Transcript,
    pending: Vec<Message>,
    choice: &ModelChoice,
    config: &Config,
    session_key: &str,
    now: Timestamp,
    extent: Extent,
) -> Told {
    let target = choice.target();
    let sanitized = sanitize(transcript.context().messages, &target, transcript.entries(), now);
    let joined = join_turns(sanitized.messages, &TranscriptPolicy::of(&target));
    let mut messages = limit_turns(joined, dm_limit(session_key, config));
    let touch = prune(&mut messages, transcript, choice, config, now);
    let custom = |entry: CustomEntry| NewEntry::Custom {
        custom_type: entry.custom_type.to_owned(),
        data: Some(Value::Object(entry.data)),
    };
    let to_append = sanitized.to_append.into_iter().chain(touch).map(custom).collect();
    match extent {
        Extent::Whole => {}
        Extent::Trimmed => {
            let results = messages.iter_mut().filter(|message| message.role() == Role::ToolResult);
            results.for_each(|message| trim(message, TRIM_OVER));
        }
        Extent::Recent(tokens) => {
            // A quarter of the room, at four units a token.
            let most = usize::try_from(tokens).unwrap_or(usize::MAX).min(TRIM_OVER);
            messages.iter_mut().for_each(|message| trim(message, most));
            messages.drain(..older(&messages, tokens));
        }
    }
    messages.extend(pending);
    Told { messages: make_acceptable(messages, &choice.recipient()), to_append }
}

/// Shortens old tool results once the provider's cache has forgotten them anyway, where that is
/// configured.
fn prune(
    messages: &mut [Message],
    transcript: &Transcript,
    choice: &ModelChoice,
    config: &Config,
    now: Timestamp,
) -> Option<CustomEntry> {
    let settings = pruning::Settings::from_config(config);
    let (provider, model) = (choice.model.provider.as_str(), choice.model.model.as_str());
    let touch = pruning::cache_touch(settings.as_ref(), provider, model, now)?;
    #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
    let now_ms = now.as_millisecond() as f64;
    let last_touch = pruning::last_cache_touch(transcript.entries());
    if let Some(settings) = settings.filter(|settings| pruning::is_due(last_touch, now_ms, settings)) {
        let replacements = pruning::prune(messages, &settings, Some(choice.window(config)));
        pruning::apply(messages, &replacements);
    }
    Some(touch)
}

/// How many messages are older than the last `tokens`.
fn older(messages: &[Message], tokens: u64) -> usize {
    let mut sum = 0;
    let fits = |message: &&Message| {
        sum += estimate(message);
        sum <= tokens
    };
    messages.len() - messages.iter().rev().take_while(fits).count()
}

/// A tool result of more units than this is trimmed when nothing else helps.
const TRIM_OVER: usize = 2000;

/// Leaves out the middle of texts of more than `most` units.
fn trim(message: &mut Message, most: usize) {
    let is_long = |block: &Value| {
        block.get("text").and_then(Value::as_str).is_some_and(|said| text::units(said) > most)
    };
    let mut blocks = message.to_blocks();
    if !blocks.iter().any(is_long) {
        return;
    }
    for block in blocks.iter_mut().filter(|block| is_long(block)) {
        let said = block.get("text").and_then(Value::as_str).unwrap_or_default();
        let length = text::units(said);
        let head = text::head(said, most / 2);
        let tail = text::skip(said, length - most / 2);
        let left_out = length - most;
        let trimmed =
            format!("{head}\n[… {left_out} characters left out: the conversation was too long …]\n{tail}");
        block["text"] = trimmed.into();
    }
    message.set("content", blocks);
}
