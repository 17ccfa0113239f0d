//! `tools.message`: messages to other places than the one asked from.

use schemars::JsonSchema;

use crate::sections::switch::Switch;

/// Messages to other places than the one asked from.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageTool {
    pub allow_cross_context_send: Option<bool>,
    pub cross_context: Option<CrossContext>,
    pub broadcast: Option<Switch>,
}

/// Which other places.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CrossContext {
    pub allow_within_provider: Option<bool>,
    pub allow_across_providers: Option<bool>,
    pub marker: Option<CrossContextMarker>,
}

/// How such messages are marked.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CrossContextMarker {
    pub enabled: Option<bool>,
    pub prefix: Option<String>,
    pub suffix: Option<String>,
}
