//! `exec.approvals.node.get`: the same on a node. There is none.

use serde_json::json;
use yabby_domain::text;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, required};

pub(super) const METHOD: Method = Method {
    name: "exec.approvals.node.get",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("nodeId", NON_EMPTY)]),
    about: "The same on a node; no node is served.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    if text::non_blank(call.text("nodeId").unwrap_or_default()).is_none() {
        return Err(Refusal::invalid("nodeId required"));
    }
    let error = json!({"code": "NOT_CONNECTED", "message": "node not connected"});
    Err(Refusal::unavailable("node not connected").with_details(json!({"nodeError": error})))
}
