//! MISSING cron

use schemars::JsonSchema;

use crate::sections::number::PositiveInteger;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cron {
    pub enabled: Option<bool>,
    pub store: Option<String>,
    pub max_concurrent_runs: Option<PositiveInteger>,
}
