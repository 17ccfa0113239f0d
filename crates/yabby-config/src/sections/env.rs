//! `env`: variables for the process (`config.md` §2.2).

use yabby_config_derive::section;

use crate::sections::map::Map;
use crate::sections::number::NonNegativeInteger;

/// Variables for the process; one that is set outside wins.
#[section(open)]
pub struct Env {
    /// Whether missing keys are taken from the login shell.
    #[serde(default)]
    pub shell_env: ShellEnv,
    /// Variables by name.
    pub vars: Option<Map<String>>,
    #[serde(flatten)]
    pub others: Map<String>,
}

/// Variables from the login shell.
#[section]
pub struct ShellEnv {
    /// Whether that is done.
    #[config(default = false)]
    pub enabled: Option<bool>,
    /// How long the shell may take.
    #[config(default = 15000)]
    pub timeout_ms: Option<NonNegativeInteger>,
}
