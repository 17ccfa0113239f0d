//! `wizard`: the last run of the set-up.

use schemars::JsonSchema;

use crate::sections::gateway::GatewayMode;

/// The last run of the set-up.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wizard {
    pub last_run_at: Option<String>,
    pub last_run_version: Option<String>,
    pub last_run_commit: Option<String>,
    pub last_run_command: Option<String>,
    pub last_run_mode: Option<GatewayMode>,
}
