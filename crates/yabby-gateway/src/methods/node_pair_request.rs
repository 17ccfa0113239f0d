//! `node.pair.request`: a node asks to be let in, in the older way (`gateway.md` §7).

use serde_json::json;
use yabby_domain::text;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::hub::{PAIRING, Weight};
use crate::schema::{BOOLEAN, NON_EMPTY, Schema, optional, required};

const WORDS: Schema = Schema::List { of: &NON_EMPTY, min: 0, max: usize::MAX };

pub(super) const METHOD: Method = Method {
    name: "node.pair.request",
    access: Access::Pairing,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("nodeId", NON_EMPTY),
        optional("displayName", NON_EMPTY),
        optional("platform", NON_EMPTY),
        optional("version", NON_EMPTY),
        optional("coreVersion", NON_EMPTY),
        optional("uiVersion", NON_EMPTY),
        optional("deviceFamily", NON_EMPTY),
        optional("modelIdentifier", NON_EMPTY),
        optional("caps", WORDS),
        optional("commands", WORDS),
        optional("remoteIp", NON_EMPTY),
        optional("silent", BOOLEAN),
    ]),
    about: "A node asks to be let in.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    if call.text("nodeId").and_then(text::non_blank).is_none() {
        return Err(Refusal::unavailable("Error: nodeId required"));
    }
    let told = call.params.as_object().cloned().unwrap_or_default();
    let name = uuid::Uuid::new_v4().to_string();
    let (request, is_new) = gateway.change_nodes(move |nodes, now| nodes.request(&told, name, now)).await?;
    if is_new {
        gateway.tell("node.pair.requested", &request, Weight::Droppable, Some(PAIRING));
    }
    Ok(json!({"status": "pending", "request": request, "created": is_new}))
}
