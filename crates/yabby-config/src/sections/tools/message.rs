//! `tools.message`: messages to other places than the one asked from.

use yabby_config_derive::section;

use crate::sections::switch::Switch;

/// Messages to other places than the one asked from.
#[section]
pub struct MessageTool {
    pub allow_cross_context_send: Option<bool>,
    #[serde(default)]
    pub cross_context: CrossContext,
    #[serde(default)]
    pub broadcast: Switch,
}

/// Which other places.
#[section]
pub struct CrossContext {
    #[config(default = true)]
    pub allow_within_provider: Option<bool>,
    #[config(default = false)]
    pub allow_across_providers: Option<bool>,
    #[serde(default)]
    pub marker: CrossContextMarker,
}

/// How such messages are marked.
#[section]
pub struct CrossContextMarker {
    pub enabled: Option<bool>,
    pub prefix: Option<String>,
    pub suffix: Option<String>,
}
