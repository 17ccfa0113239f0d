//! `env`: variables for the process (`config.md` §2.2).

use schemars::JsonSchema;

use crate::sections::map::Map;
use crate::sections::number::NonNegativeInteger;

/// Variables for the process; one that is set outside wins.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Env {
    /// Whether missing keys are taken from the login shell.
    pub shell_env: Option<ShellEnv>,
    /// Variables by name.
    pub vars: Option<Map<String>>,
    #[serde(flatten)]
    pub others: Map<String>,
}

/// Variables from the login shell.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShellEnv {
    pub enabled: Option<bool>,
    /// How long the shell may take. Default: 15000.
    pub timeout_ms: Option<NonNegativeInteger>,
}
