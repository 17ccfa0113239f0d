//! `node.event`: something happened at a node. Nothing follows from it yet.

use serde_json::json;

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::{NON_EMPTY, Schema, TEXT, optional, required};

pub(super) const METHOD: Method = Method {
    name: "node.event",
    access: Access::Node,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("event", NON_EMPTY),
        optional("payload", Schema::Any),
        optional("payloadJSON", TEXT),
    ]),
    about: "Something happened at a node; nothing follows from it yet.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let event = call.text("event").unwrap_or_default();
    tracing::debug!(event, client = %call.client.id, "an event of a node");
    Ok(json!({"ok": true}))
}
