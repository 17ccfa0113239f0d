//! `exec.approval.resolve`: answers whether a command may run.

use serde_json::json;

use super::{Access, Call, Listing, Method};
use crate::approvals::parse;
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, required};

pub(super) const METHOD: Method = Method {
    name: "exec.approval.resolve",
    access: Access::Approvals,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("id", NON_EMPTY), required("decision", NON_EMPTY)]),
    about: "Answers whether a command may run.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let decision = call.text("decision").and_then(parse);
    let decision = decision.ok_or_else(|| Refusal::invalid("invalid decision"))?;
    let id = call.text("id").unwrap_or_default();
    match call.gateway.decide_approval(id, decision, &call.client) {
        true => Ok(json!({"ok": true})),
        false => Err(Refusal::invalid("unknown approval id")),
    }
}
