//! Compaction: old parts of a conversation become a summary (`transcripts.md` §6).
//!
//! Nothing is deleted. The summary is an entry like any other; what it stands for remains in the file, and
//! `yabby sessions undo-compaction` goes back to it.

mod parts;

use std::sync::Arc;
use std::time::Instant;

use yabby_domain::compaction::Settings;
use yabby_domain::compaction::prepare::{Preparation, prepare};
use yabby_domain::compaction::projected::projected;
use yabby_domain::compaction::reserve::{floor_from_config, reserve};
use yabby_domain::compaction::safeguard::Mode;
use yabby_domain::compaction::summary::{Answers, NothingToSummarize, SummaryCall, plan};
use yabby_domain::compaction::tokens::estimate_all;
use yabby_domain::config::Config;
use yabby_domain::json::Value;
use yabby_domain::message::Message;
use yabby_domain::seam::StoreError;
use yabby_domain::seam::model::{ModelError, ModelErrorKind, ModelRequest, Purpose};
use yabby_domain::session::cli_session;
use yabby_domain::status::tokens as tokens_text;
use yabby_domain::text;
use yabby_domain::transcript::tree::{NewCompaction, NewEntry};
use yabby_domain::usage;

use super::answer;
use super::bounded_stream::stream_bounded;
use super::call::{account, refusal};
use super::conversation::Conversation;
use super::request::RunRequest;
use crate::durability::Recorded;
use crate::events::{Compacted, EventKind};
use crate::hooks::{CompactionChange, HookEvent, HookPoint};
use crate::turn::prompt::user_message;
use parts::written_in_parts;

/// What makes a compaction necessary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The context is nearly full.
    Full,
    /// The provider refused the request: it was too long.
    Overflow,
    /// Somebody asked for it, and perhaps what the summary should heed.
    Asked { focus: Option<String> },
}

/// Why a history was not compacted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CompactionError {
    #[error("there is nothing to compact: the conversation is short, or was compacted just now")]
    Nothing,
    #[error(
        "the conversation is short: its {} tokens are fewer than the {} that a compaction keeps as they are",
        tokens_text(*tokens),
        tokens_text(*kept)
    )]
    Short { tokens: u64, kept: u64 },
    #[error(transparent)]
    NothingToSummarize(#[from] NothingToSummarize),
    #[error("a hook cancelled the compaction")]
    Cancelled,
    #[error("somebody stopped the compaction")]
    Stopped,
    #[error("the summary was not written: {0}")]
    Model(#[from] ModelError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The settings in force for a model that reads this much. The reserve of a large model would leave
/// nothing of a small one's window, so neither takes more than its share.
pub(crate) fn settings(config: &Config, window: u64) -> Settings {
    let usual = Settings::default();
    let kept_free = reserve(usual.reserve_tokens, floor_from_config(config)).tokens;
    Settings {
        reserve_tokens: kept_free.min(window / 2),
        keep_recent_tokens: usual.keep_recent_tokens.min(window / 4),
        ..usual
    }
}

/// Compacts a conversation that is open.
pub(crate) async fn compact(
    request: &RunRequest<'_>,
    conversation: &mut Conversation,
    why: Why,
    recorded: &Recorded,
) -> Result<Compacted, CompactionError> {
    let RunRequest { engine, opened, turn, .. } = request;
    let started = EventKind::CompactionStarted { overflow: why == Why::Overflow };
    engine.tell(&opened.key, Some(turn), started);
    let compacted = summarize(request, conversation, &why, recorded).await;
    let ended = EventKind::CompactionEnded {
        compacted: compacted.as_ref().ok().cloned(),
        will_retry: why == Why::Overflow && compacted.is_ok(),
    };
    engine.tell(&opened.key, Some(turn), ended);
    compacted
}

async fn summarize(
    request: &RunRequest<'_>,
    conversation: &mut Conversation,
    why: &Why,
    recorded: &Recorded,
) -> Result<Compacted, CompactionError> {
    let RunRequest { engine, opened, .. } = request;
    let settings = settings(&opened.config, request.choice.window(&opened.config));
    let branch = conversation.transcript().branch();
    let prepared = prepare(&branch, &settings).ok_or(CompactionError::Nothing)?;
    let tokens = projected(&branch, &[], 0);
    if prepared.summarizes_nothing() && tokens <= settings.keep_recent_tokens {
        return Err(CompactionError::Short { tokens, kept: settings.keep_recent_tokens });
    }
    let message_count = branch.iter().filter(|entry| entry.message().is_some()).count();
    let entry = match asked_hooks(request, &prepared, message_count).await {
        Some(CompactionChange::Cancel) => return Err(CompactionError::Cancelled),
        Some(CompactionChange::Summary { summary, details }) => NewEntry::Compaction(NewCompaction {
            summary,
            first_kept: prepared.first_kept_entry_id.clone(),
            tokens_before: prepared.tokens_before,
            details,
            from_hook: Some(true),
        }),
        None => {
            let focus = match why {
                Why::Asked { focus } => focus.as_deref(),
                Why::Full | Why::Overflow => None,
            };
            match Mode::from_config(&opened.config) {
                Mode::Default => written_by_model(request, prepared.clone(), focus).await?,
                Mode::Safeguard => written_in_parts(request, prepared.clone(), focus).await?,
            }
        }
    };
    let id = conversation.append(engine, opened, vec![entry], recorded).await?.pop().unwrap_or_default();
    let branch = conversation.transcript().branch();
    let tokens_after = projected(&branch, &conversation.pending_messages(), 0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate, and not negative"
    )]
    let compacted =
        Compacted { entry: id, tokens_before: prepared.tokens_before.max(0.0) as u64, tokens_after };
    #[expect(clippy::cast_precision_loss, reason = "times and tokens are exact")]
    let (now, after) = (engine.now_ms() as f64, tokens_after as f64);
    let change = move |entry: &mut Option<yabby_domain::session::entry::SessionEntry>| {
        if let Some(entry) = entry {
            let mut patch = usage::compacted(entry, now, Some(after));
            // A program would go on from all that the summary stands for.
            cli_session::forget(&mut patch);
            entry.apply(&patch);
        }
    };
    opened.home.sessions.update(&opened.key, Box::new(change)).await?;
    if engine.0.hooks.has(HookPoint::AfterCompaction) {
        engine.0.hooks.tell(HookEvent::AfterCompaction {
            session_key: opened.key.as_str().to_owned(),
            message_count: conversation.transcript().context().messages.len(),
            token_count: tokens_after,
            compacted_count: prepared.history.len() + prepared.turn_prefix.len(),
        });
    }
    Ok(compacted)
}

async fn asked_hooks(
    request: &RunRequest<'_>,
    prepared: &Preparation,
    count: usize,
) -> Option<CompactionChange> {
    let hooks = &request.engine.0.hooks;
    let session_key = request.opened.key.as_str().to_owned();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate, and not negative"
    )]
    let tokens_before = prepared.tokens_before.max(0.0) as u64;
    if hooks.has(HookPoint::BeforeCompaction) {
        hooks.tell(HookEvent::BeforeCompaction {
            session_key: session_key.clone(),
            message_count: count,
            token_count: tokens_before,
        });
    }
    if !hooks.has(HookPoint::SessionBeforeCompact) {
        return None;
    }
    let messages = prepared.history.iter().chain(&prepared.turn_prefix).cloned().collect();
    hooks
        .compaction(HookEvent::SessionBeforeCompact {
            session_key,
            session_id: request.opened.session_id.clone(),
            message_count: count,
            tokens_before,
            previous_summary: prepared.previous_summary.clone(),
            messages: Arc::new(messages),
        })
        .await
}

/// How often the oldest half is left out of a summary because the model refused to read it all.
const HALVINGS: usize = 8;

/// So many windows of text, by the estimate, are not sent at all: not every service refuses what it cannot read.
const CERTAINLY_TOO_LONG: u64 = 2;
/// How often the oldest half of that is left out. Some messages do not get shorter.
const MAX_HALVINGS_BEFORE: usize = 32;

/// Has the model write the summary. What is too long even for that is summarised without its oldest part,
/// which the summary says.
async fn written_by_model(
    request: &RunRequest<'_>,
    mut prepared: Preparation,
    focus: Option<&str>,
) -> Result<NewEntry, CompactionError> {
    let window = request.choice.window(&request.opened.config);
    let mut left_out = 0;
    for _ in 0..MAX_HALVINGS_BEFORE {
        if tokens_of_longer_part(&prepared) <= window.saturating_mul(CERTAINLY_TOO_LONG) {
            break;
        }
        left_out += halve(&mut prepared).unwrap_or(0);
    }
    for _ in 0..HALVINGS {
        let planned = plan(&prepared, focus)?;
        let (history, prefix) =
            tokio::join!(ask(request, planned.history_call()), ask(request, planned.turn_prefix_call()));
        match (history, prefix) {
            (Ok(history), Ok(turn_prefix)) => {
                let mut compaction = planned.assemble(Answers { history, turn_prefix });
                if left_out > 0 {
                    compaction.summary.push_str(&format!(
                        "\n\n(The {left_out} oldest messages were too long to be read for this summary; they are in the transcript.)"
                    ));
                }
                return Ok(compaction.into_entry());
            }
            (Err(CompactionError::Model(error)), _) | (_, Err(CompactionError::Model(error)))
                if error.kind == ModelErrorKind::ContextOverflow =>
            {
                left_out += halve(&mut prepared).ok_or(error)?;
            }
            (Err(error), _) | (_, Err(error)) => return Err(error),
        }
    }
    Err(CompactionError::NothingToSummarize(NothingToSummarize))
}

/// The estimated tokens of the longer one of the two texts that are summarised.
fn tokens_of_longer_part(prepared: &Preparation) -> u64 {
    estimate_all(&prepared.history).max(estimate_all(&prepared.turn_prefix))
}

/// Leaves out the older half of what is longer, or the middle of a message that is too long alone; how many
/// messages are left out, if there is anything to leave out.
fn halve(prepared: &mut Preparation) -> Option<usize> {
    let longer = match estimate_all(&prepared.history) >= estimate_all(&prepared.turn_prefix) {
        true => &mut prepared.history,
        false => &mut prepared.turn_prefix,
    };
    match longer.as_mut_slice() {
        [] => None,
        [only] => shorten(only).then_some(0),
        [..] => Some(longer.drain(..longer.len().div_ceil(2)).count()),
    }
}

/// Leaves out the middle half of a message's texts; whether there was any.
fn shorten(message: &mut Message) -> bool {
    let mut blocks = message.to_blocks();
    let mut was_cut = false;
    for block in &mut blocks {
        let Some(said) = block.get("text").and_then(Value::as_str) else { continue };
        let quarter = text::units(said) / 4;
        if quarter > 0 {
            let tail = text::skip(said, text::units(said) - quarter);
            let cut = format!("{}\n[…]\n{tail}", text::head(said, quarter));
            was_cut = true;
            block["text"] = cut.into();
        }
    }
    message.set("content", blocks);
    was_cut
}

/// Has one summary written; nothing where none is wanted.
async fn ask(request: &RunRequest<'_>, call: Option<&SummaryCall>) -> Result<String, CompactionError> {
    let Some(call) = call else { return Ok(String::new()) };
    if let Some(refused) = refusal(request, Purpose::Summary) {
        return Err(refused.into());
    }
    let began = Instant::now();
    let question = user_message(&call.prompt(), request.engine.now_ms());
    let asked = ModelRequest {
        system: SummaryCall::SYSTEM_PROMPT.to_owned(),
        max_tokens: Some(call.max_tokens.min(request.choice.info.max_output.max(1))),
        purpose: Purpose::Summary,
        ..request.question(vec![question])
    };
    let mut unheard = |_| {};
    let answer = tokio::select! {
        answer = stream_bounded(&*request.choice.provider, &asked, &mut unheard) => answer?,
        () = request.control.cancel.cancelled() => return Err(CompactionError::Stopped),
        () = tokio::time::sleep_until(request.deadline) => {
            return Err(ModelError::new(ModelErrorKind::TimedOut, "it took too long").into());
        }
    };
    account(request, Purpose::Summary, &answer, began);
    let choice = &request.choice;
    Ok(answer::text_of(&answer::answered(&answer, choice, None, 0)))
}
