//! `nodeHost`: what this machine offers when it serves as a node.

use schemars::JsonSchema;

/// What this machine offers when it serves as a node.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeHost {
    pub browser_proxy: Option<BrowserProxy>,
}

/// The machine's browsers, for agents elsewhere.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BrowserProxy {
    pub enabled: Option<bool>,
    pub allow_profiles: Option<Vec<String>>,
}
