//! MISSING channels/access

use schemars::JsonSchema;

use crate::sections::map::Map;
use crate::sections::number::NonNegativeInteger;
use crate::sections::tools::policy::ToolPolicy;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DirectChat {
    pub history_limit: Option<NonNegativeInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Group {
    pub require_mention: Option<bool>,
    pub tools: Option<ToolPolicy>,
    pub tools_by_sender: Option<Map<ToolPolicy>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GroupPolicy {
    Open,
    Disabled,
    Allowlist,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DmPolicy {
    Pairing,
    Allowlist,
    Open,
    Disabled,
}
