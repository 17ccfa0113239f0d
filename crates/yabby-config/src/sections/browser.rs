//! `browser`: the browser that agents use.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, Port};
use crate::sections::text::HexColor;

/// The browser that agents use.
#[section]
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
    #[serde(default)]
    pub snapshot_defaults: SnapshotDefaults,
    /// Browser profiles by name.
    pub profiles: Option<BrowserProfiles>,
}

/// How pages are described to agents.
#[section]
pub struct SnapshotDefaults {
    pub mode: Option<SnapshotMode>,
}

/// One profile; it says where its browser listens.
#[section]
pub struct BrowserProfile {
    pub cdp_port: Option<Port>,
    pub cdp_url: Option<String>,
    pub driver: Option<BrowserDriver>,
    pub color: HexColor,
}

/// The profiles by name: lower-case letters, digits and hyphens.
#[section]
#[schemars(extend("propertyNames" = { "pattern": "^[a-z0-9-]+$" }))]
pub struct BrowserProfiles(pub Map<BrowserProfile>);

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum SnapshotMode {
    Efficient,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum BrowserDriver {
    Clawd,
    Extension,
}
