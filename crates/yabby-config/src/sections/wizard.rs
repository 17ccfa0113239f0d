//! `wizard`: the last run of the set-up.

use yabby_config_derive::section;

use crate::sections::gateway::GatewayMode;

/// The last run of the set-up.
#[section]
pub struct Wizard {
    pub last_run_at: Option<String>,
    pub last_run_version: Option<String>,
    pub last_run_commit: Option<String>,
    pub last_run_command: Option<String>,
    pub last_run_mode: Option<GatewayMode>,
}
