//! `chat.abort`: stops a run, or all runs of a session (`gateway.md` §5.4).

use std::sync::Arc;

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
    let named = gateway.named(call.text("sessionKey").unwrap_or_default()).await?;
    let runs = match call.text("runId") {
        None => gateway.runs.active_in(&named.key),
        Some(id) => match gateway.runs.active(id) {
            Some(run) if run.key != named.key => {
                return Err(Refusal::invalid("runId does not match sessionKey"));
            }
            run => run.into_iter().collect(),
        },
    };
    Ok(stop(gateway, &named.key, runs, "rpc"))
}

/// Stops runs. Everybody hears of it before whoever asked gets an answer; how the engine ends them is its own
/// business.
pub(super) fn stop(gateway: &Arc<Gateway>, key: &SessionKey, runs: Vec<Arc<Run>>, reason: &str) -> Value {
    let stopped: Vec<Arc<Run>> = runs.into_iter().filter(|run| run.silence(gateway, reason)).collect();
    let ids: Vec<String> = stopped.iter().map(|run| run.id.clone()).collect();
    let (engine, key) = (gateway.engine.clone(), key.clone());
    gateway.tasks.spawn(async move {
        for run in stopped {
            engine.abort_turn(&key, &run.turn).await;
        }
    });
    json!({"ok": true, "aborted": !ids.is_empty(), "runIds": ids})
}
