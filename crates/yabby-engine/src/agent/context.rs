//! What the model is told: any transcript, whatever happened to it, as a request that the provider takes
//! (`transcripts.md` §5, §8).

use std::sync::Arc;

use jiff::Timestamp;
use yabby_domain::compaction::tokens::estimate;
use yabby_domain::config::Config;
use yabby_domain::history_limit::{dm_limit, limit_turns};
use yabby_domain::json::Value;
use yabby_domain::message::{Message, Role};
use yabby_domain::prepared::PreparedContext;
use yabby_domain::provider_rules::make_acceptable;
use yabby_domain::pruning;
use yabby_domain::sanitize::policy::TranscriptPolicy;
use yabby_domain::sanitize::{CustomEntry, join_turns, sanitize};
use yabby_domain::seam::settled::SettledMessages;
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
    /// What was said long ago, in front of `messages`.
    pub(crate) settled: Vec<Arc<SettledMessages>>,
    pub(crate) messages: Vec<Message>,
    /// What the transcript is to remember about this request.
    pub(crate) to_append: Vec<NewEntry>,
}

/// Who is told, and when.
pub(crate) struct Telling<'t> {
    pub(crate) choice: &'t ModelChoice,
    pub(crate) config: &'t Config,
    pub(crate) session_key: &'t str,
    pub(crate) now: Timestamp,
    pub(crate) extent: Extent,
}

/// The messages of a request: the conversation, and `pending` behind it. What was prepared for the last request is
/// not prepared again.
pub(crate) fn told(
    transcript: &Transcript,
    pending: Vec<Message>,
    telling: &Telling<'_>,
    prepared: &mut PreparedContext,
) -> Told {
    let Telling { choice, config, session_key, now, extent } = *telling;
    let pruning = Pruning::of(transcript, telling);
    let limit = dm_limit(session_key, config);
    if extent == Extent::Whole
        && limit.is_none()
        && pruning.due.is_none()
        && let Some(found) = prepared.prepare(transcript, &pending, &choice.recipient(), now)
    {
        let to_append = found.to_append.into_iter().chain(pruning.touch).map(custom).collect();
        return Told { settled: found.settled, messages: found.messages, to_append };
    }
    told_anew(transcript, pending, telling, limit, pruning)
}

/// The same, for somebody who asks only once.
pub(crate) fn told_at_once(transcript: &Transcript, pending: Vec<Message>, telling: &Telling<'_>) -> Told {
    let limit = dm_limit(telling.session_key, telling.config);
    told_anew(transcript, pending, telling, limit, Pruning::of(transcript, telling))
}

/// The same, prepared as a whole.
fn told_anew(
    transcript: &Transcript,
    pending: Vec<Message>,
    telling: &Telling<'_>,
    limit: Option<f64>,
    pruning: Pruning,
) -> Told {
    let Telling { choice, config, now, extent, .. } = *telling;
    let target = choice.target();
    let sanitized = sanitize(transcript.context().messages, &target, transcript.entries(), now);
    let joined = join_turns(sanitized.messages, &TranscriptPolicy::of(&target));
    let mut messages = limit_turns(joined, limit);
    if let Some(settings) = pruning.due {
        let replacements = pruning::prune(&messages, &settings, Some(choice.window(config)));
        pruning::apply(&mut messages, &replacements);
    }
    let to_append = sanitized.to_append.into_iter().chain(pruning.touch).map(custom).collect();
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
    let messages = make_acceptable(messages, &choice.recipient());
    Told { settled: Vec::new(), messages, to_append }
}

fn custom(entry: CustomEntry) -> NewEntry {
    NewEntry::Custom { custom_type: entry.custom_type.to_owned(), data: Some(Value::Object(entry.data)) }
}

/// Shortening old tool results once the provider's cache has forgotten them anyway, where that is configured.
struct Pruning {
    /// What the transcript is to remember about the provider's cache.
    touch: Option<CustomEntry>,
    /// How to prune, if it is time to.
    due: Option<pruning::Settings>,
}

impl Pruning {
    fn of(transcript: &Transcript, telling: &Telling<'_>) -> Self {
        let Telling { choice, config, now, .. } = *telling;
        let settings = pruning::Settings::from_config(config);
        let (provider, model) = (choice.model.provider.as_str(), choice.model.model.as_str());
        let Some(touch) = pruning::cache_touch(settings.as_ref(), provider, model, now) else {
            return Self { touch: None, due: None };
        };
        #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
        let now_ms = now.as_millisecond() as f64;
        let last_touch = pruning::last_cache_touch(transcript.entries());
        let due = settings.filter(|settings| pruning::is_due(last_touch, now_ms, settings));
        Self { touch: Some(touch), due }
    }
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
