//! `node.invoke.result`: what a node did. Nobody asked it to.

use serde_json::json;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{BOOLEAN, NON_EMPTY, Schema, optional, required};

pub(super) const METHOD: Method = Method {
    name: "node.invoke.result",
    access: Access::Node,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("id", NON_EMPTY),
        required("nodeId", NON_EMPTY),
        required("ok", BOOLEAN),
        optional("payload", Schema::Any),
        // What is no text is taken for the payload itself.
        optional("payloadJSON", Schema::Any),
        optional(
            "error",
            Schema::OrNull(&Schema::Object(&[optional("code", NON_EMPTY), optional("message", NON_EMPTY)])),
        ),
    ]),
    about: "What a node did; nobody waits for it.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let own = call.client.device.as_ref().unwrap_or(&call.client.about.id);
    if call.text("nodeId") != Some(own) {
        return Err(Refusal::invalid("nodeId mismatch"));
    }
    Ok(json!({"ok": true, "ignored": true}))
}
