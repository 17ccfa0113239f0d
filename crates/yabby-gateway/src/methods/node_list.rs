//! `node.list`: the nodes that there are (`gateway.md` §7). Devices that were let in as nodes are told; none is
//! served.

use serde_json::json;

use super::node_describe::{described, is_node};
use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::NOTHING;

pub(super) const METHOD: Method = Method {
    name: "node.list",
    access: Access::Read,
    listing: Listing::Advertised,
    params: NOTHING,
    about: "The nodes that there are.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let (_, paired) = call.gateway.change_devices(|devices, _| devices.told()).await?;
    let nodes: Vec<_> = paired.iter().filter(|device| is_node(device)).map(described).collect();
    Ok(json!({"ts": call.gateway.now(), "nodes": nodes}))
}
