//! `/stop`, and the words that mean it: the run is stopped before this is answered.

use yabby_domain::reply::notices;
use yabby_domain::session::abort;

use super::CommandContext;
use crate::Engine;
use crate::inbound::Inbound;
use crate::turn::TurnError;

pub(crate) async fn answer(context: CommandContext<'_>) -> Result<String, TurnError> {
    let stopped = context.engine.stop_subagents(context.inbound.key()).await;
    Ok(notices::aborted(stopped).text.unwrap_or_default())
}

/// The session remembers that its run was stopped until the next prompt tells the model.
pub(crate) async fn remember(engine: &Engine, inbound: &Inbound) {
    let Ok(home) = engine.home(&inbound.target().agent) else { return };
    #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
    let now = engine.now_ms() as f64;
    let change = move |entry: &mut Option<yabby_domain::session::entry::SessionEntry>| {
        if let Some(entry) = entry {
            entry.apply(&abort::remembered(now));
        }
    };
    if let Err(error) = home.sessions.update(inbound.key(), Box::new(change)).await {
        tracing::warn!(%error, session = %inbound.key(), "the stop was not remembered");
    }
}
