//! Something that is only on or off.

use schemars::JsonSchema;

/// Something that is only on or off.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Switch {
    pub enabled: Option<bool>,
}
