//! `node.rename`: gives a node another name.

use serde_json::json;
use yabby_domain::text;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, required};

pub(super) const METHOD: Method = Method {
    name: "node.rename",
    access: Access::Pairing,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("nodeId", NON_EMPTY), required("displayName", NON_EMPTY)]),
    about: "Gives a node another name.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let name = text::non_blank(call.text("displayName").unwrap_or_default());
    let name = name.ok_or_else(|| Refusal::invalid("displayName required"))?.to_owned();
    let node = call.text("nodeId").unwrap_or_default().to_owned();
    let renamed = call.gateway.change_nodes(move |nodes, _| nodes.rename(&node, &name)).await?;
    let node = renamed.ok_or_else(|| Refusal::invalid("unknown nodeId"))?;
    Ok(json!({"nodeId": node["nodeId"], "displayName": node["displayName"]}))
}
