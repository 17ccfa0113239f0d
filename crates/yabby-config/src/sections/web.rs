//! `web`: the connection to WhatsApp Web.

use schemars::JsonSchema;

use crate::sections::number::{Fraction, NonNegativeInteger, PositiveInteger, PositiveNumber};

/// The connection to WhatsApp Web.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Web {
    pub enabled: Option<bool>,
    pub heartbeat_seconds: Option<PositiveInteger>,
    pub reconnect: Option<WebReconnect>,
}

/// How a lost connection is taken up again.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebReconnect {
    pub initial_ms: Option<PositiveNumber>,
    pub max_ms: Option<PositiveNumber>,
    pub factor: Option<PositiveNumber>,
    pub jitter: Option<Fraction>,
    pub max_attempts: Option<NonNegativeInteger>,
}
