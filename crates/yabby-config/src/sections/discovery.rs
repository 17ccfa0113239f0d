//! `discovery`: how the gateway announces itself.

use schemars::JsonSchema;

use crate::sections::switch::Switch;

/// How the gateway announces itself.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Discovery {
    /// Beyond the local network. Default: off.
    pub wide_area: Option<Switch>,
    /// On the local network.
    pub mdns: Option<Mdns>,
}

/// Announcements on the local network.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mdns {
    /// How much they say. Default: minimal.
    pub mode: Option<MdnsMode>,
}

/// How much announcements say.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MdnsMode {
    Off,
    Minimal,
    Full,
}
