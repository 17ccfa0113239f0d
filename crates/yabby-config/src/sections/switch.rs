//! MISSING switch

use schemars::JsonSchema;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Switch {
    pub enabled: Option<bool>,
}
