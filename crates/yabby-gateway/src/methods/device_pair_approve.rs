//! `device.pair.approve`: lets a device in.

use serde_json::json;
use yabby_domain::device::without_tokens;
use yabby_domain::json::Value;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::hub::{PAIRING, Weight};
use crate::schema::{NON_EMPTY, Schema, required};

pub(super) const METHOD: Method = Method {
    name: "device.pair.approve",
    access: Access::Pairing,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("requestId", NON_EMPTY)]),
    about: "Lets a device in.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let request = call.text("requestId").unwrap_or_default().to_owned();
    let (name, token) = (request.clone(), uuid::Uuid::new_v4().simple().to_string());
    let client = call.client.clone();
    let approved = gateway.change_devices(move |devices, now| {
        let unknown = || Refusal::invalid("unknown requestId");
        super::check_scopes(&client, &devices.asked_scopes(&name).ok_or_else(unknown)?)?;
        devices.approve(&name, token, now).ok_or_else(unknown)
    });
    let device = approved.await??;
    let id = device.get("deviceId").cloned().unwrap_or(Value::Null);
    tracing::info!(device = %id, "a device was let in");
    let payload = json!({"requestId": request, "deviceId": id, "decision": "approved", "ts": gateway.now()});
    gateway.tell("device.pair.resolved", &payload, Weight::Droppable, Some(PAIRING));
    Ok(json!({"requestId": request, "device": without_tokens(&device)}))
}
