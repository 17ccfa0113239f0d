//! `web`: the connection to WhatsApp Web.

use yabby_config_derive::section;

use crate::sections::number::{Fraction, NonNegativeInteger, PositiveInteger, PositiveNumber};

/// The connection to WhatsApp Web.
#[section]
pub struct Web {
    pub enabled: Option<bool>,
    pub heartbeat_seconds: Option<PositiveInteger>,
    #[serde(default)]
    pub reconnect: WebReconnect,
}

/// How a lost connection is taken up again.
#[section]
pub struct WebReconnect {
    pub initial_ms: Option<PositiveNumber>,
    pub max_ms: Option<PositiveNumber>,
    pub factor: Option<PositiveNumber>,
    pub jitter: Option<Fraction>,
    pub max_attempts: Option<NonNegativeInteger>,
}
