//! `sessions.fork` (ours): goes on from a conversation in a new session.

use serde_json::json;
use yabby_domain::seam::StoreError;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::label;
use yabby_engine::services::{ForkError, ForkRequest};

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, optional, required};

pub(super) const METHOD: Method = Method {
    name: "sessions.fork",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("key", NON_EMPTY),
        optional("at", NON_EMPTY),
        optional("newKey", NON_EMPTY),
        optional("label", Schema::Text { min: 1, max: label::MAX_UNITS }),
    ]),
    about: "Goes on from a conversation, or from one of its entries, in a new session.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let session = gateway.session(call.text("key").unwrap_or_default()).await?;
    let given = |name: &str| call.text(name).map(str::to_owned);
    let request = ForkRequest {
        source: session.key.clone(),
        agent: session.agent.clone(),
        at: given("at"),
        key: given("newKey"),
        label: given("label"),
    };
    let fork = gateway.engine.fork_session(&request).await;
    let fork = fork.map_err(|error| refusal(error, &session.key))?;
    Ok(json!({
        "ok": true,
        "key": fork.key.as_str(),
        "sessionId": fork.session_id,
        "sessionFile": session.file(&fork.transcript.file_name()),
        "forkedFrom": session.key.as_str(),
    }))
}

fn refusal(error: ForkError, source: &SessionKey) -> Refusal {
    match error {
        ForkError::NotForked(StoreError::NoSource(_)) => ForkError::Silent(source.clone()).into(),
        ForkError::KeyInUse(_) => Refusal::invalid(format!("{error}; choose another newKey")),
        ForkError::Gone(_) => Refusal::unavailable("Error: the fork is gone already; try again"),
        error => error.into(),
    }
}
