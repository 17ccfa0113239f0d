//! `node.list`: the nodes that there are, by their names (`gateway.md` §7). Devices that were let in as nodes are
//! told; none is served.

use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::text;

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
    let mut nodes: Vec<_> = paired.iter().filter(|device| is_node(device)).map(described).collect();
    nodes.sort_by_cached_key(|node| {
        let word = |name: &str| node.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name =
            node.get("displayName").and_then(Value::as_str).map_or_else(|| word("nodeId"), str::to_owned);
        (text::lower(&name), word("nodeId"))
    });
    Ok(json!({"ts": call.gateway.now(), "nodes": nodes}))
}
