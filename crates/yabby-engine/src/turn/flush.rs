//! The memory flush: before a history is compacted, the agent writes down what should be remembered
//! (`sessions.md` §14).
//!
//! It runs once for each compaction. Where the history overflows before anybody noticed, it runs on as
//! much of the history as the model can read; then it is not tried again, whatever becomes of it.

use yabby_domain::compaction::projected::projected;
use yabby_domain::flush::{FlushSettings, FlushTurn, flush_is_due, flushed, flushed_this_cycle};
use yabby_domain::session::entry::SessionEntry;

use super::TurnError;
use super::open::Opened;
use super::prompt::Prompt;
use crate::Engine;
use crate::agent::context::Extent;
use crate::agent::conversation::Conversation;
use crate::agent::{self, Run, RunRequest};
use crate::durability::Recorded;
use crate::events::EventKind;
use crate::inbound::Inbound;

/// Runs the flush if the question would bring the context close to a compaction. A flush that fails does
/// not fail the turn.
pub(crate) async fn flush_if_due(
    inbound: &Inbound,
    request: &mut RunRequest<'_>,
    conversation: &mut Conversation,
    recorded: &Recorded,
) {
    let (engine, opened) = (request.engine, &request.opened.clone());
    let Some(settings) = FlushSettings::from_config(&opened.config).filter(|_| request.may_flush) else {
        return;
    };
    if flushed_this_cycle(&opened.entry) || agent::is_asked(inbound, &request.prompt, conversation) {
        return;
    }
    let window = request.choice.window(&opened.config);
    let overhead = request.opening().overhead;
    let tokens = projected(&conversation.transcript().branch(), &[request.prompt.message()], overhead);
    #[expect(clippy::cast_precision_loss, reason = "no context is that large")]
    if !flush_is_due(&opened.entry, tokens as f64, &settings.budget(window as f64)) {
        return;
    }
    if request.resume.as_ref().is_some_and(|progress| !progress.tools.is_empty()) {
        // It was interrupted when it had begun to do things. They are not done again.
        note(engine, opened).await;
        return;
    }
    // It is told no more of the history than the model can read.
    let extent = if tokens > window { Extent::Recent(window / 2) } else { Extent::Whole };
    let flush = request.flush_of(flush_prompt(engine, &settings), settings.system_prompt, extent);
    match run_aside(flush, conversation, recorded).await {
        Ok(run) if run.error.is_none() && !run.aborted => note(engine, opened).await,
        // Nothing is noted: the next turn tries again.
        Ok(_) => {}
        Err(error) => tracing::warn!(session = %opened.key, %error, "the memory flush failed"),
    }
    request.start_clock();
}

/// Runs the flush because the history did not fit.
pub(crate) async fn flush_on_overflow(
    request: &RunRequest<'_>,
    conversation: &mut Conversation,
    recorded: &Recorded,
) {
    let RunRequest { engine, opened, .. } = request;
    let Some(settings) = FlushSettings::from_config(&opened.config).filter(|_| request.may_flush) else {
        return;
    };
    let entry = opened.home.sessions.get(&opened.key).await.ok().flatten().unwrap_or_default();
    if flushed_this_cycle(&entry) {
        return;
    }
    // Whatever becomes of it, there is no second attempt before the next compaction.
    note(engine, opened).await;
    // It is told no more of the history than the model can read.
    let extent = Extent::Recent(request.choice.window(&opened.config) / 2);
    let flush = request.flush_of(flush_prompt(engine, &settings), settings.system_prompt, extent);
    if let Err(error) = run_aside(flush, conversation, recorded).await {
        tracing::warn!(session = %opened.key, %error, "the memory flush failed");
    }
}

/// Runs a flush on a branch of its own.
async fn run_aside(
    request: RunRequest<'_>,
    conversation: &mut Conversation,
    recorded: &Recorded,
) -> Result<Run, TurnError> {
    let aside = conversation.begin_aside();
    let run = Box::pin(agent::run(request, conversation, recorded)).await;
    conversation.end_aside(aside).await?;
    run
}

/// Whether a turn may flush at all.
pub(crate) fn may_flush(inbound: &Inbound) -> bool {
    let turn = FlushTurn {
        is_heartbeat: inbound.principal.is_heartbeat(),
        // A program has to remember what a compaction takes from it, like anybody else.
        is_cli_provider: false,
        workspace_is_read_only: false,
    };
    turn.can_flush()
}

/// The flush is told the day, so that it writes to the right file.
fn flush_prompt(engine: &Engine, settings: &FlushSettings) -> Prompt {
    let now = engine.now();
    let day = now.to_zoned(engine.0.zone.clone()).date();
    let text = settings.prompt.replace("YYYY-MM-DD", &day.to_string());
    // No message may be taken for this one: they are told apart by their times.
    Prompt { text, ..Prompt::nothing(engine.not_before(now.as_millisecond())) }
}

async fn note(engine: &Engine, opened: &Opened) {
    #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
    let now = engine.now_ms() as f64;
    let change = move |entry: &mut Option<SessionEntry>| {
        if let Some(entry) = entry {
            let patch = flushed(entry, false, now);
            entry.apply(&patch);
        }
    };
    if let Err(error) = opened.home.sessions.update(&opened.key, Box::new(change)).await {
        tracing::warn!(session = %opened.key, %error, "the memory flush was not noted");
    }
    engine.tell(&opened.key, None, EventKind::Flushed);
}
