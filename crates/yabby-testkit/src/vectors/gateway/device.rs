//! The devices of a scenario: Ed25519 keys from fixed seeds, and what they sign when they connect.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// How a line wants its device to be signed.
pub(super) struct Wish<'w> {
    sign: &'w Value,
}

impl<'w> Wish<'w> {
    /// `None` if the line has no device.
    pub(super) fn of(line: &'w Value) -> Option<Self> {
        line.get("sign").map(|sign| Self { sign })
    }

    /// When it says it was signed.
    pub(super) fn signed_at(&self, now: i64) -> i64 {
        now + self.sign["signedAtOffsetMs"].as_i64().unwrap_or(0)
    }

    /// What it says it was challenged with.
    pub(super) fn nonce(&self, challenge: Option<&str>) -> Option<String> {
        match self.sign["nonce"].as_str() {
            Some("none") => None,
            Some(literal) => Some(literal.to_owned()),
            None => challenge.map(str::to_owned),
        }
    }

    /// The `device` of the parameters of `connect`.
    pub(super) fn device(&self, params: &Value, signed_at: i64, nonce: Option<&str>) -> Value {
        let seed = u8::try_from(self.sign["seed"].as_u64().unwrap_or(0)).unwrap_or_default();
        let key = SigningKey::from_bytes(&[seed; 32]);
        let public = key.verifying_key().to_bytes();
        let id = hex(&Sha256::digest(public));
        let signature = match self.sign["badSig"].as_bool() {
            Some(true) => [7; 64],
            _ => key.sign(signed_text(&id, params, signed_at, nonce).as_bytes()).to_bytes(),
        };
        let mut device = json!({
            "id": self.sign["id"].as_str().unwrap_or(&id),
            "publicKey": URL_SAFE_NO_PAD.encode(public),
            "signature": URL_SAFE_NO_PAD.encode(signature),
            "signedAt": signed_at,
        });
        if let Some(nonce) = nonce {
            device["nonce"] = nonce.into();
        }
        device
    }
}

/// What is signed: the second form if there was a challenge.
fn signed_text(id: &str, params: &Value, signed_at: i64, nonce: Option<&str>) -> String {
    let text = |pointer: &str| params.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let scopes: Vec<&str> =
        params["scopes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let role = match text("/role") {
        "" => "operator",
        role => role,
    };
    let version = if nonce.is_some() { "v2" } else { "v1" };
    let mut parts = vec![
        version.to_owned(),
        id.to_owned(),
        text("/client/id").to_owned(),
        text("/client/mode").to_owned(),
        role.to_owned(),
        scopes.join(","),
        signed_at.to_string(),
        text("/auth/token").to_owned(),
    ];
    parts.extend(nonce.map(str::to_owned));
    parts.join("|")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::gateway::{recordings, scenario::Scenario};

    /// The token of an earlier answer, where a line names one.
    fn filled(params: &Value, scenario: &Scenario) -> Value {
        let mut params = params.clone();
        let place = params["auth"]["token"].as_str().and_then(|token| token.strip_prefix("{{res:"));
        let place = place.and_then(|place| place.strip_suffix("}}")).map(str::to_owned);
        if let Some((id, pointer)) = place.as_deref().and_then(|place| place.split_once(':')) {
            let mut answers = scenario.lines.iter().filter(|line| line["dir"] == "s2c");
            let answer = answers.find(|line| line["frame"]["id"] == id).expect("it was answered");
            params["auth"]["token"] = answer["frame"].pointer(pointer).expect("it has a token").clone();
        }
        params
    }

    #[test]
    fn devices_sign_what_recorded_devices_signed() {
        let mut seen = 0;
        for (name, scenario) in recordings() {
            for line in scenario.steps() {
                let (Some(wish), sent) = (Wish::of(line), &line["sent"]["device"]) else { continue };
                let signed_at = sent["signedAt"].as_i64().expect("a device says when it signed");
                let params = filled(&line["frame"]["params"], &scenario);
                let device = wish.device(&params, signed_at, sent["nonce"].as_str());
                assert_eq!(&device, sent, "{name}");
                seen += 1;
            }
        }
        assert!(seen >= 10, "only {seen} devices were seen");
    }
}
