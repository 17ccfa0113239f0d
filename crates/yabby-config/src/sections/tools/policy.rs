//! Which tools are allowed and which are not.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;

/// Which tools are allowed with one provider or model.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderToolPolicy {
    /// The only tools allowed: names, `group:…` or `*`.
    pub allow: Option<Vec<String>>,
    /// Tools beyond those of the profile.
    pub also_allow: Option<Vec<String>>,
    /// Tools that are not allowed; this wins.
    pub deny: Option<Vec<String>>,
    /// A set of tools to start from. Default: full.
    pub profile: Option<ToolProfile>,
}

/// Which tools are allowed in one place.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolPolicyHolder {
    /// Which tools.
    pub tools: Option<ToolPolicy>,
}

/// Which tools are allowed and which are not.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolPolicy {
    /// The only tools allowed: names, `group:…` or `*`.
    pub allow: Option<Vec<String>>,
    /// Tools beyond those of the profile.
    pub also_allow: Option<Vec<String>>,
    /// Tools that are not allowed; this wins.
    pub deny: Option<Vec<String>>,
}

/// A set of tools to start from.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ToolProfile {
    Minimal,
    Coding,
    Messaging,
    Full,
}
