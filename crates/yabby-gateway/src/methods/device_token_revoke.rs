//! `device.token.revoke`: makes the token of a device worthless.

use serde_json::json;
use yabby_domain::json;
use yabby_domain::text;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, required};

pub(super) const METHOD: Method = Method {
    name: "device.token.revoke",
    access: Access::Pairing,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("deviceId", NON_EMPTY), required("role", NON_EMPTY)]),
    about: "Makes the token of a device worthless.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let said = |name: &str| call.text(name).map(text::trim).unwrap_or_default().to_owned();
    let (device, role) = (said("deviceId"), said("role"));
    let (id, of) = (device.clone(), role.clone());
    let revoked =
        call.gateway.change_devices(move |devices, now| devices.revoke_token(&id, &of, now)).await?;
    let at = revoked.ok_or_else(|| Refusal::invalid("unknown deviceId/role"))?;
    tracing::info!(%device, %role, "the token of a device is worthless now");
    Ok(json!({"deviceId": device, "role": role, "revokedAtMs": json::number(at)}))
}
