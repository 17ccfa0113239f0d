//! `chat.abort`: stops a run, or all runs of a session (`gateway.md` §5.4).

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::session::key::SessionKey;

use super::{Access, Call, Listing, Method};
use crate::Gateway;
use crate::frames::{Answer, Refusal};
use crate::runs::Run;
use crate::schema::{NON_EMPTY, Schema, optional, required};

pub(super) const METHOD: Method = Method {
    name: "chat.abort",
    access: Access::Write,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("sessionKey", NON_EMPTY), optional("runId", NON_EMPTY)]),
    about: "Stops a run, or all runs of a session.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let told_key = call.text("sessionKey").unwrap_or_default();
    // What was said before it is stopped, too.
    let _turn = call.turn_in(told_key).await;
    let named = gateway.named(told_key).await?;
    let Some(id) = call.text("runId") else { return Ok(stop(gateway, &named.key, "rpc").await) };
    match gateway.runs.active(id) {
        Some(run) if run.key != named.key => Err(Refusal::invalid("runId does not match sessionKey")),
        Some(run) if run.silence(gateway, "rpc") => {
            noted(gateway, gateway.engine.abort_turn(&run.key, &run.turn)).await;
            Ok(stopped(&[run]))
        }
        Some(_) | None => Ok(stopped(&[])),
    }
}

/// Stops what goes on in a session, and what waits there. Everybody hears of it before whoever asked gets an answer, and
/// what was stopped does not go on after a restart.
pub(super) async fn stop(gateway: &Arc<Gateway>, key: &SessionKey, reason: &str) -> Value {
    let mut runs = gateway.runs.active_in(key);
    runs.retain(|run| run.silence(gateway, reason));
    noted(gateway, gateway.engine.abort(key)).await;
    stopped(&runs)
}

/// Waits until the engine has written down that something is stopped; it goes on with that if it takes long.
async fn noted(gateway: &Gateway, stopping: impl Future<Output = bool> + Send + 'static) {
    const PATIENCE: Duration = Duration::from_secs(2);
    let _ = tokio::time::timeout(PATIENCE, gateway.tasks.spawn(stopping)).await;
}

fn stopped(runs: &[Arc<Run>]) -> Value {
    let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    json!({"ok": true, "aborted": !ids.is_empty(), "runIds": ids})
}
