//! MISSING update

use schemars::JsonSchema;

use crate::sections::literal::as_literals;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Update {
    pub channel: Option<UpdateChannel>,
    pub check_on_start: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum UpdateChannel {
    Stable,
    Beta,
    Dev,
}
