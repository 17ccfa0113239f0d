//! MISSING node_host

use schemars::JsonSchema;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeHost {
    pub browser_proxy: Option<BrowserProxy>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BrowserProxy {
    pub enabled: Option<bool>,
    pub allow_profiles: Option<Vec<String>>,
}
