//! `browser`: the browser that agents use.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, Port};
use crate::sections::text::HexColor;

/// The browser that agents use.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Browser {
    pub enabled: Option<bool>,
    /// Whether agents may run scripts in pages.
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
    /// Browser profiles by name.
    pub profiles: Option<BrowserProfiles>,
}

/// How pages are described to agents.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SnapshotDefaults {
    pub mode: Option<SnapshotMode>,
}

/// One profile; it says where its browser listens.
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
