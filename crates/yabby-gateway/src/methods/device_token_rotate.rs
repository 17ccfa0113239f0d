//! `device.token.rotate`: gives a device a new token; the old one is worthless from then on.

use serde_json::json;
use yabby_domain::json::{self, Value};
use yabby_domain::text;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, optional, required};

pub(super) const METHOD: Method = Method {
    name: "device.token.rotate",
    access: Access::Pairing,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("deviceId", NON_EMPTY),
        required("role", NON_EMPTY),
        optional("scopes", Schema::List { of: &NON_EMPTY, min: 0, max: usize::MAX }),
    ]),
    about: "Gives a device a new token.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let said = |name: &str| call.text(name).map(text::trim).unwrap_or_default().to_owned();
    let (id, role) = (said("deviceId"), said("role"));
    let scopes = call.params.get("scopes").and_then(Value::as_array).map(|scopes| {
        scopes.iter().filter_map(|scope| Some(scope.as_str()?.to_owned())).collect::<Vec<String>>()
    });
    let (device, client) = (id.clone(), call.client.clone());
    let token = call.gateway.change_devices(move |devices, now| {
        let unknown = || Refusal::invalid("unknown deviceId/role");
        let wanted = scopes.clone().or_else(|| devices.token_scopes(&id, &role));
        super::check_scopes(&client, &wanted.ok_or_else(unknown)?)?;
        let fresh = uuid::Uuid::new_v4().simple().to_string();
        devices.rotate_token(&id, &role, scopes.as_deref(), fresh, now).ok_or_else(unknown)
    });
    let token = token.await??;
    tracing::info!(%device, role = token.role, "a device has a new token");
    Ok(json!({
        "deviceId": device,
        "role": token.role,
        "token": token.token,
        "scopes": token.scopes,
        "rotatedAtMs": json::number(token.issued_at),
    }))
}
