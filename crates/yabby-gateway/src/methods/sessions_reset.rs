//! `sessions.reset`: an empty conversation under the same key (`gateway.md` §6).

use std::sync::{Arc, Mutex};

use serde_json::json;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::renew::renewed;

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::{NON_EMPTY, Schema, required};
use crate::unpoisoned;

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
    let (id, now) = (uuid::Uuid::new_v4().to_string(), gateway.changed_ms());
    let begun: Arc<Mutex<SessionEntry>> = Arc::default();
    let slot = begun.clone();
    let change = move |entry: &mut Option<SessionEntry>| {
        let fresh = renewed(entry.as_ref(), &id, now);
        *unpoisoned(&slot) = fresh.clone();
        *entry = Some(fresh);
    };
    session.home.let_go_of_conversation().await;
    session.update(Box::new(change)).await?;
    // As it was begun: the store fills in where its replies go.
    let entry = std::mem::take(&mut *unpoisoned(&begun));
    Ok(json!({"ok": true, "key": session.key.as_str(), "entry": entry.into_object()}))
}
