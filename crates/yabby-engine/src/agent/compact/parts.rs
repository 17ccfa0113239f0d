//! A summary of what is too long for one request, made of its parts: `compaction.mode: "safeguard"`
//! (`transcripts.md` §6.7).

use yabby_domain::compaction::prepare::Preparation;
use yabby_domain::compaction::safeguard::{
    chunk_by_max_tokens, chunk_tokens, crowded_out, history_share, merging, partial_summaries, stages,
    unavailable, without_oversized,
};
use yabby_domain::compaction::summary::{Answers, SummaryCall, plan};
use yabby_domain::compaction::tokens::estimate_all;
use yabby_domain::message::Message;
use yabby_domain::seam::model::{ModelError, ModelErrorKind};
use yabby_domain::transcript::tree::NewEntry;

use super::{CERTAINLY_TOO_LONG, CompactionError, ask};
use crate::agent::request::RunRequest;

/// How often parts are halved because the model refused them: the estimate of their tokens runs low.
const HALVINGS: u32 = 4;

/// Has the model write a summary, part by part where that must be.
pub(super) async fn written_in_parts(
    request: &RunRequest<'_>,
    prepared: Preparation,
    focus: Option<&str>,
) -> Result<NewEntry, CompactionError> {
    let planned = plan(&prepared, focus)?;
    let config = &request.opened.config;
    let window = request.choice.window(config);
    let mut kept = prepared.clone();
    if let Some(pruned) = crowded_out(&prepared, window, history_share(config)) {
        let parts = Parts::new(request, &prepared, window, pruned.dropped, Subject::History { focus });
        let previous = parts.summary(pruned.dropped, kept.previous_summary.take()).await?;
        kept.previous_summary = Some(previous);
        kept.history = pruned.kept.to_vec();
    }
    let all = [kept.history.as_slice(), &kept.turn_prefix].concat();
    let history = Parts::new(request, &prepared, window, &all, Subject::History { focus });
    let turn_prefix = Parts::new(request, &prepared, window, &all, Subject::TurnPrefix);
    let previous = kept.previous_summary.clone().filter(|summary| !summary.is_empty());
    let (history, turn_prefix) =
        tokio::join!(history.summary(&kept.history, previous), turn_prefix.summary(&kept.turn_prefix, None));
    Ok(planned.assemble(Answers { history: history?, turn_prefix: turn_prefix? }).into_entry())
}

/// What is summarised.
#[derive(Clone, Copy)]
enum Subject<'f> {
    /// Whole turns, and what the summary should heed.
    History { focus: Option<&'f str> },
    /// The beginning of a turn whose end is kept.
    TurnPrefix,
}

/// Summaries of parts of one history.
struct Parts<'p> {
    request: &'p RunRequest<'p>,
    prepared: &'p Preparation,
    window: u64,
    /// How many tokens a request may hold.
    chunk: u64,
    subject: Subject<'p>,
}

impl<'p> Parts<'p> {
    fn new(
        request: &'p RunRequest<'p>,
        prepared: &'p Preparation,
        window: u64,
        messages: &[Message],
        subject: Subject<'p>,
    ) -> Self {
        Self { request, prepared, window, chunk: chunk_tokens(messages, window), subject }
    }

    /// One summary; that of each stage, and one of those, if there are several.
    async fn summary(
        &self,
        messages: &[Message],
        previous: Option<String>,
    ) -> Result<String, CompactionError> {
        if messages.is_empty() {
            return Ok(previous.unwrap_or_default());
        }
        let stages = stages(messages, self.chunk);
        let [first, others @ ..] = stages.as_slice() else { return Ok(previous.unwrap_or_default()) };
        let mut summaries = vec![self.stage(first, previous, self.subject).await?];
        for stage in others {
            summaries.push(self.stage(stage, None, self.subject).await?);
        }
        if others.is_empty() {
            return Ok(summaries.pop().unwrap_or_default());
        }
        let focus = match self.subject {
            Subject::History { focus } => merging(focus),
            Subject::TurnPrefix => merging(None),
        };
        let merged = Subject::History { focus: Some(&focus) };
        self.stage(&partial_summaries(summaries), None, merged).await
    }

    /// The summary of a stage. What is too long for the model is left out, and the summary says so.
    async fn stage(
        &self,
        messages: &[Message],
        previous: Option<String>,
        subject: Subject<'_>,
    ) -> Result<String, CompactionError> {
        match self.chunks(messages, self.chunk, previous.clone(), subject).await {
            Err(error) if is_overflow(&error) => {}
            done => return done,
        }
        let (small, notes) = without_oversized(messages, self.window);
        for halving in 0..HALVINGS {
            let chunk = (self.chunk >> halving).max(1);
            match self.chunks(&small, chunk, previous.clone(), subject).await {
                Ok(summary) if summary.is_empty() && !notes.is_empty() => return Ok(notes.join("\n")),
                Ok(summary) if notes.is_empty() => return Ok(summary),
                Ok(summary) => return Ok(format!("{summary}\n\n{}", notes.join("\n"))),
                Err(error) if is_overflow(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let told = unavailable(messages.len(), notes.len());
        Ok(previous.map_or(told.clone(), |previous| format!("{previous}\n\n{told}")))
    }

    /// The summary of chunk after chunk, each going on from the one before.
    async fn chunks(
        &self,
        messages: &[Message],
        chunk: u64,
        previous: Option<String>,
        subject: Subject<'_>,
    ) -> Result<String, CompactionError> {
        let mut summary = previous;
        for chunk in chunk_by_max_tokens(messages, chunk) {
            if estimate_all(chunk) > self.window.saturating_mul(CERTAINLY_TOO_LONG) {
                return Err(ModelError::new(ModelErrorKind::ContextOverflow, "it is too long").into());
            }
            let (earlier, settings) = (summary.as_deref(), &self.prepared.settings);
            let call = match subject {
                Subject::History { focus } => SummaryCall::of_history(chunk, earlier, focus, settings),
                Subject::TurnPrefix => SummaryCall::of_turn_prefix(chunk, earlier, settings),
            };
            summary = Some(ask(self.request, Some(&call)).await?);
        }
        Ok(summary.unwrap_or_default())
    }
}

fn is_overflow(error: &CompactionError) -> bool {
    matches!(error, CompactionError::Model(error) if error.kind == ModelErrorKind::ContextOverflow)
}
