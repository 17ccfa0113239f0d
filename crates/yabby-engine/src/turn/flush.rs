//! The memory flush: before a history is compacted, the agent writes down what should be remembered
//! (`sessions.md` §14).
//!
//! It runs once for each compaction. Where the history overflows before anybody noticed, it runs on as
//! much of the history as the model can read; then it is not tried again, whatever becomes of it.

use yabby_domain::compaction::projected::projected;
use yabby_domain::flush::{FlushBudget, FlushSettings, FlushTurn, flushed};
use yabby_domain::model::is_cli_provider;
use yabby_domain::seam::model::Purpose;
use yabby_domain::session::entry::SessionEntry;

use super::open::Opened;
use super::prompt::Prompt;
use crate::Engine;
use crate::agent::conversation::Conversation;
use crate::agent::{self, RunRequest};
use crate::events::EventKind;
use crate::inbox::Inbound;
use crate::steering::RunControl;

/// Runs the flush if the question would bring the context close to a compaction. A flush that fails does
/// not fail the turn.
pub(crate) async fn flush_if_due(
    engine: &Engine,
    inbound: &Inbound,
    opened: &Opened,
    prompt: &Prompt,
    control: &RunControl,
    conversation: &mut Conversation,
) {
    let Some(settings) = settings(inbound, opened) else { return };
    let Ok(choice) = &opened.model else { return };
    let window = choice.window(&opened.config);
    let tokens = projected(&conversation.transcript().branch(), &[prompt.message()], 0);
    #[expect(clippy::cast_precision_loss, reason = "no context is that large")]
    let near = tokens as f64 >= threshold(&settings, window);
    if !near || is_flushed(&opened.entry) {
        return;
    }
    let Ok(mut request) =
        RunRequest::new(engine, inbound, opened, flush_prompt(engine, &settings), control, Purpose::Flush)
    else {
        return;
    };
    request.extra_system = Some(settings.system_prompt);
    match agent::run(request, conversation).await {
        Ok(run) if run.error.is_none() && !run.aborted => note(engine, opened).await,
        // Nothing is noted: the next turn tries again.
        Ok(_) => {}
        Err(error) => tracing::warn!(session = %opened.key, %error, "the memory flush failed"),
    }
}

/// Runs the flush because the history did not fit.
pub(crate) async fn flush_on_overflow(request: &RunRequest<'_>, conversation: &mut Conversation) {
    let RunRequest { engine, opened, .. } = request;
    let Some(settings) = FlushSettings::from_config(&opened.config) else { return };
    let entry = opened.home.sessions.get(&opened.key).await.ok().flatten().unwrap_or_default();
    if is_flushed(&entry) || request.choice.info.keeps_own_context {
        return;
    }
    // Whatever becomes of it, there is no second attempt before the next compaction.
    note(engine, opened).await;
    let flush = request.flush_of(flush_prompt(engine, &settings), settings.system_prompt);
    let waiting = conversation.set_aside();
    if let Err(error) = agent::run(flush, conversation).await {
        tracing::warn!(session = %opened.key, %error, "the memory flush failed");
    }
    conversation.put_back(waiting);
}

fn settings(inbound: &Inbound, opened: &Opened) -> Option<FlushSettings> {
    let provider = opened.model.as_ref().ok().map(|choice| choice.model.provider.as_str())?;
    let turn = FlushTurn {
        is_heartbeat: inbound.options.heartbeat,
        is_cli_provider: is_cli_provider(provider, &opened.config),
        workspace_is_read_only: false,
    };
    FlushSettings::from_config(&opened.config).filter(|_| turn.can_flush())
}

/// How full the context is when a flush is due. As with compaction, the margins of a large model must not
/// eat up the window of a small one.
fn threshold(settings: &FlushSettings, window: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "no window is that large")]
    let window = window as f64;
    let budget = FlushBudget {
        context_window: window,
        reserve: settings.reserve_floor.min(window / 2.0),
        soft_margin: settings.soft_tokens.min(window / 8.0),
    };
    budget.threshold().max(1.0)
}

fn is_flushed(entry: &SessionEntry) -> bool {
    entry.memory_flush_compaction_count() == Some(entry.compaction_count().unwrap_or(0.0))
}

/// The flush is told the day, so that it writes to the right file.
fn flush_prompt(engine: &Engine, settings: &FlushSettings) -> Prompt {
    let now = engine.now();
    let day = now.to_zoned(engine.0.zone.clone()).date();
    Prompt { text: settings.prompt.replace("YYYY-MM-DD", &day.to_string()), asked_at: now.as_millisecond() }
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
