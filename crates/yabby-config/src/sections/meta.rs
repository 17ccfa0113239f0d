//! MISSING meta

use schemars::JsonSchema;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Meta {
    pub last_touched_version: Option<String>,
    pub last_touched_at: Option<String>,
}
