//! `discovery`: how the gateway announces itself.

use yabby_config_derive::section;

use crate::sections::switch::Switch;

/// How the gateway announces itself.
#[section]
pub struct Discovery {
    /// Beyond the local network. Default: off.
    #[serde(default)]
    pub wide_area: Switch,
    /// On the local network.
    #[serde(default)]
    pub mdns: Mdns,
}

/// Announcements on the local network.
#[section]
pub struct Mdns {
    /// How much they say.
    #[config(default = Minimal)]
    pub mode: Option<MdnsMode>,
}

/// How much announcements say.
#[section]
#[serde(rename_all = "lowercase")]
pub enum MdnsMode {
    Off,
    Minimal,
    Full,
}
