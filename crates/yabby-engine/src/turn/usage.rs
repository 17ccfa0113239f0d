//! What a run leaves in the session's record (`sessions.md` §14).

use std::pin::Pin;

use futures_util::FutureExt as _;
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::usage::{RunUsage, usage_patch};

use super::open::Opened;
use crate::Engine;
use crate::agent::Run;

/// What a turn leaves in the record, on its way there. That everybody can read it is waited for here.
pub(crate) type Recording = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One change of the record: tokens, model, what the system prompt was made of. How full the context is,
/// the last call tells; a sum over all calls of a run would count the history again and again. The answer
/// is in the transcript by now: whatever becomes of the record, it is sent, and nobody waits for the record.
pub(crate) fn record_usage(engine: &Engine, opened: &Opened, run: &Run) -> Recording {
    #[expect(clippy::cast_precision_loss, reason = "times and tokens are exact")]
    let (now, window) = (engine.now_ms() as f64, run.context_window as f64);
    let (usage, model, report) = (run.last_usage, run.model.clone(), run.system_prompt_report.clone());
    let cli_session_id = run.cli_session_id.clone();
    let aborted = run.aborted;
    // What the session before this one took is still in the record.
    let forgets = opened.is_new && usage.is_none();
    let change = move |entry: &SessionEntry| {
        let used = RunUsage {
            usage,
            model: Some(&model.model),
            provider: Some(&model.provider),
            context_tokens: Some(window),
            system_prompt_report: Some(&report),
            cli_session_id: cli_session_id.as_deref(),
        };
        let mut patch = usage_patch(entry, &used, now).unwrap_or_default();
        if forgets {
            ["totalTokens", "inputTokens", "outputTokens"]
                .into_iter()
                .for_each(|field| patch.put(field, None));
        }
        // The parts are the sum of all that a program asked for; its total is what is left in its context.
        if let Some(usage) = usage
            && let Some(total) = usage.total
            && usage.prompt_tokens().is_some_and(|read| read > total)
        {
            patch.set_total_tokens(Some(total));
        }
        patch.set_system_sent(Some(true));
        patch.set_aborted_last_run(Some(aborted));
        Some::<Patch>(patch)
    };
    let (home, key) = (opened.home.clone(), opened.key.clone());
    // A program that keeps the conversation itself is known by the record alone; what a run took is a figure.
    let is_for_good = run.cli_session_id.is_some();
    let mut recording: Recording = Box::pin(async move {
        let recorded = match is_for_good {
            true => home.change(&key, change).await,
            false => home.note(&key, change).await,
        };
        if let Err(error) = recorded {
            tracing::warn!(session = %key, %error, "what a run took was not recorded");
        }
    });
    match recording.as_mut().now_or_never() {
        Some(()) => Box::pin(std::future::ready(())),
        None => recording,
    }
}
