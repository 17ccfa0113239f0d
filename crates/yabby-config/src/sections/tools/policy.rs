//! Which tools are allowed and which are not.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;

/// Which tools are allowed with one provider or model.
#[section]
pub struct ProviderToolPolicy {
    /// The only tools allowed: names, `group:…` or `*`.
    pub allow: Option<Vec<String>>,
    /// Tools beyond those of the profile.
    pub also_allow: Option<Vec<String>>,
    /// Tools that are not allowed; this wins.
    pub deny: Option<Vec<String>>,
    /// A set of tools to start from.
    #[config(default = Full)]
    pub profile: Option<ToolProfile>,
}

/// Which tools are allowed in one place.
#[section]
pub struct ToolPolicyHolder {
    /// Which tools.
    #[serde(default)]
    pub tools: ToolPolicy,
}

/// Which tools are allowed and which are not.
#[section]
pub struct ToolPolicy {
    /// The only tools allowed: names, `group:…` or `*`.
    pub allow: Option<Vec<String>>,
    /// Tools beyond those of the profile.
    pub also_allow: Option<Vec<String>>,
    /// Tools that are not allowed; this wins.
    pub deny: Option<Vec<String>>,
}

/// A set of tools to start from.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ToolProfile {
    Minimal,
    Coding,
    Messaging,
    Full,
}
