//! `update`: new versions.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;

/// New versions.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Update {
    /// Which versions are offered.
    pub channel: Option<UpdateChannel>,
    pub check_on_start: Option<bool>,
}

/// A line of releases.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum UpdateChannel {
    Stable,
    Beta,
    Dev,
}
