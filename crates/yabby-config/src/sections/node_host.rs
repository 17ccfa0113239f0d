//! `nodeHost`: what this machine offers when it serves as a node.

use yabby_config_derive::section;

/// What this machine offers when it serves as a node.
#[section]
pub struct NodeHost {
    #[serde(default)]
    pub browser_proxy: BrowserProxy,
}

/// The machine's browsers, for agents elsewhere.
#[section]
pub struct BrowserProxy {
    pub enabled: Option<bool>,
    pub allow_profiles: Option<Vec<String>>,
}
