//! `sessions.reset`: an empty conversation under the same key (`gateway.md` §6).

use serde_json::json;

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::{NON_EMPTY, Schema, required};

pub(super) const METHOD: Method = Method {
    name: "sessions.reset",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("key", NON_EMPTY)]),
    about: "Begins a session anew: an empty conversation under the same key.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let session = gateway.session(call.text("key").unwrap_or_default()).await?;
    let reset = gateway.engine.reset_session(&session.agent, &session.key).await?;
    // As it was begun: the store fills in where its replies go.
    Ok(json!({"ok": true, "key": session.key.as_str(), "entry": reset.begun.into_object()}))
}
