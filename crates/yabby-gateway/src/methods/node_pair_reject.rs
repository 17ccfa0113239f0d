//! `node.pair.reject`: turns a node down.

use serde_json::json;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::hub::{PAIRING, Weight};
use crate::schema::{NON_EMPTY, Schema, required};

pub(super) const METHOD: Method = Method {
    name: "node.pair.reject",
    access: Access::Pairing,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("requestId", NON_EMPTY)]),
    about: "Turns a node down.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let request = call.text("requestId").unwrap_or_default().to_owned();
    let name = request.clone();
    let rejected = gateway.change_nodes(move |nodes, _| nodes.reject(&name)).await?;
    let node = rejected.ok_or_else(|| Refusal::invalid("unknown requestId"))?;
    let payload = json!({"requestId": request, "nodeId": node, "decision": "rejected", "ts": gateway.now()});
    gateway.tell("node.pair.resolved", &payload, Weight::Droppable, Some(PAIRING));
    Ok(json!({"requestId": request, "nodeId": node}))
}
