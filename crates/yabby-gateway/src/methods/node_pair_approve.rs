//! `node.pair.approve`: lets a node in.

use serde_json::json;
use yabby_domain::json::Value;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::hub::{PAIRING, Weight};
use crate::schema::{NON_EMPTY, Schema, required};

pub(super) const METHOD: Method = Method {
    name: "node.pair.approve",
    access: Access::Pairing,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("requestId", NON_EMPTY)]),
    about: "Lets a node in.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let request = call.text("requestId").unwrap_or_default().to_owned();
    let (name, token) = (request.clone(), uuid::Uuid::new_v4().simple().to_string());
    let approved = gateway.change_nodes(move |nodes, now| nodes.approve(&name, token, now)).await?;
    let node = approved.ok_or_else(|| Refusal::invalid("unknown requestId"))?;
    let id = node.get("nodeId").cloned().unwrap_or(Value::Null);
    let payload = json!({"requestId": request, "nodeId": id, "decision": "approved", "ts": gateway.now()});
    gateway.tell("node.pair.resolved", &payload, Weight::Droppable, Some(PAIRING));
    Ok(json!({"requestId": request, "node": node}))
}
