//! `node.invoke`: has a node do something. There is none.

use serde_json::json;
use yabby_domain::text;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{COUNT, NON_EMPTY, Schema, optional, required};

pub(super) const METHOD: Method = Method {
    name: "node.invoke",
    access: Access::Write,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("nodeId", NON_EMPTY),
        required("command", NON_EMPTY),
        optional("params", Schema::Any),
        optional("timeoutMs", COUNT),
        required("idempotencyKey", NON_EMPTY),
    ]),
    about: "Has a node do something; no node is served.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let is_said = |name: &str| call.text(name).and_then(text::non_blank).is_some();
    if !is_said("nodeId") || !is_said("command") {
        return Err(Refusal::invalid("nodeId and command required"));
    }
    Err(Refusal::unavailable("node not connected").with_details(json!({"code": "NOT_CONNECTED"})))
}
