//! `tools.exec`: running commands.

use schemars::JsonSchema;

use crate::sections::number::{NonNegativeInteger, PositiveInteger};

/// Running commands, for one agent.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentExec {
    /// Where they run. Default: sandbox.
    pub host: Option<ExecHost>,
    /// Which may run. Default: deny in the sandbox, elsewhere allowlist.
    pub security: Option<ExecSecurity>,
    /// When a person is asked. Default: on-miss.
    pub ask: Option<ExecAsk>,
    /// On which node.
    pub node: Option<String>,
    /// Folders to look for programs in first.
    pub path_prepend: Option<Vec<String>>,
    /// Programs that may read their input without being asked for.
    pub safe_bins: Option<Vec<String>>,
    /// After how long a command goes on in the background. Default: 10000.
    pub background_ms: Option<PositiveInteger>,
    /// How long a command may run. Default: 1800.
    pub timeout_sec: Option<PositiveInteger>,
    /// After how long a command that was approved is said to be still running.
    pub approval_running_notice_ms: Option<NonNegativeInteger>,
    /// How long its output is kept. Default: 1800000.
    pub cleanup_ms: Option<PositiveInteger>,
    /// Whether its end is told. Default: true.
    pub notify_on_exit: Option<bool>,
    /// Changing files by patches.
    pub apply_patch: Option<ApplyPatch>,
}

/// Changing files by patches.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApplyPatch {
    /// Whether that is on. Default: false.
    pub enabled: Option<bool>,
    /// For which models.
    pub allow_models: Option<Vec<String>>,
}

/// Running commands.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exec {
    /// Where they run. Default: sandbox.
    pub host: Option<ExecHost>,
    /// Which may run. Default: deny in the sandbox, elsewhere allowlist.
    pub security: Option<ExecSecurity>,
    /// When a person is asked. Default: on-miss.
    pub ask: Option<ExecAsk>,
    /// On which node.
    pub node: Option<String>,
    /// Folders to look for programs in first.
    pub path_prepend: Option<Vec<String>>,
    /// Programs that may read their input without being asked for.
    pub safe_bins: Option<Vec<String>>,
    /// After how long a command goes on in the background. Default: 10000.
    pub background_ms: Option<PositiveInteger>,
    /// How long a command may run. Default: 1800.
    pub timeout_sec: Option<PositiveInteger>,
    /// How long its output is kept. Default: 1800000.
    pub cleanup_ms: Option<PositiveInteger>,
    /// Whether its end is told. Default: true.
    pub notify_on_exit: Option<bool>,
    /// Changing files by patches.
    pub apply_patch: Option<ApplyPatch>,
}

/// Where commands run.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExecHost {
    Sandbox,
    Gateway,
    Node,
}

/// Which commands may run.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExecSecurity {
    Deny,
    Allowlist,
    Full,
}

/// When a person is asked.
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExecAsk {
    Off,
    OnMiss,
    Always,
}
