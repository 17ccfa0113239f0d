//! MISSING browser

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, Port};
use crate::sections::text::HexColor;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Browser {
    pub enabled: Option<bool>,
    pub evaluate_enabled: Option<bool>,
    pub cdp_url: Option<String>,
    pub remote_cdp_timeout_ms: Option<NonNegativeInteger>,
    pub remote_cdp_handshake_timeout_ms: Option<NonNegativeInteger>,
    pub color: Option<String>,
    pub executable_path: Option<String>,
    pub headless: Option<bool>,
    pub no_sandbox: Option<bool>,
    pub attach_only: Option<bool>,
    pub default_profile: Option<String>,
    pub snapshot_defaults: Option<SnapshotDefaults>,
    pub profiles: Option<BrowserProfiles>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SnapshotDefaults {
    pub mode: Option<SnapshotMode>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BrowserProfile {
    pub cdp_port: Option<Port>,
    pub cdp_url: Option<String>,
    pub driver: Option<BrowserDriver>,
    pub color: HexColor,
}

/// The profiles by name: lower-case letters, digits and hyphens.
#[derive(JsonSchema)]
#[schemars(extend("propertyNames" = { "pattern": "^[a-z0-9-]+$" }))]
pub struct BrowserProfiles(pub Map<BrowserProfile>);

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum SnapshotMode {
    Efficient,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum BrowserDriver {
    Clawd,
    Extension,
}
