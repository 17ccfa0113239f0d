//! `node.describe`: what is known about a node.

use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::text;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, required};

pub(super) const METHOD: Method = Method {
    name: "node.describe",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("nodeId", NON_EMPTY)]),
    about: "What is known about a node.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let id = text::non_blank(call.text("nodeId").unwrap_or_default());
    let id = id.ok_or_else(|| Refusal::invalid("nodeId required"))?;
    let (_, paired) = call.gateway.change_devices(|devices, _| devices.told()).await?;
    let mut nodes = paired.iter().filter(|device| is_node(device));
    let node = nodes.find(|node| node.get("deviceId").and_then(Value::as_str) == Some(id));
    let mut told = described(node.ok_or_else(|| Refusal::invalid("unknown nodeId"))?);
    told["ts"] = call.gateway.now().into();
    Ok(told)
}

/// Whether a device was let in as a node.
pub(super) fn is_node(device: &Value) -> bool {
    let roles = device.get("roles").and_then(Value::as_array).into_iter().flatten();
    device.get("role").into_iter().chain(roles).any(|role| role == "node")
}

/// A device that was let in as a node; none of them is connected.
pub(super) fn described(device: &Value) -> Value {
    let mut told = json!({
        "nodeId": device.get("deviceId"),
        "displayName": device.get("displayName"),
        "platform": device.get("platform"),
        "remoteIp": device.get("remoteIp"),
        "caps": [],
        "commands": [],
        "paired": true,
        "connected": false,
    });
    if let Some(fields) = told.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    told
}
