//! `sessions.reset`: an empty conversation under the same key (`gateway.md` §6).

use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::renew::renewed;

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
    gateway.stop_session(&session.key).await?;
    let (id, now) = (uuid::Uuid::new_v4().to_string(), gateway.now_ms());
    let change = move |entry: &mut Option<SessionEntry>| *entry = Some(renewed(entry.as_ref(), &id, now));
    let entry = session.update(Box::new(change)).await?;
    Ok(json!({
        "ok": true,
        "key": session.key.as_str(),
        "entry": entry.map_or(Value::Null, |entry| Value::Object(entry.into_object())),
    }))
}
