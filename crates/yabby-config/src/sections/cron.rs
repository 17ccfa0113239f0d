//! `cron`: jobs at set times.

use schemars::JsonSchema;

use crate::sections::number::PositiveInteger;

/// Jobs at set times.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cron {
    /// Whether they run. Default: true.
    pub enabled: Option<bool>,
    /// Their file. Default: `<state>/cron/jobs.json`.
    pub store: Option<String>,
    /// How many run at once. Default: 1.
    pub max_concurrent_runs: Option<PositiveInteger>,
}
