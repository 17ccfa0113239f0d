//! `tools.exec`: running commands.

use yabby_config_derive::section;

use crate::sections::number::{NonNegativeInteger, PositiveInteger};
use crate::sections::word::Word;

/// Running commands, for one agent.
#[section]
pub struct AgentExec {
    /// Where they run. Default: sandbox.
    pub host: Option<Word<ExecHost>>,
    /// Which may run. Default: deny in the sandbox, elsewhere allowlist.
    pub security: Option<Word<ExecSecurity>>,
    /// When a person is asked. Default: on-miss.
    pub ask: Option<Word<ExecAsk>>,
    /// On which node.
    pub node: Option<String>,
    /// Folders to look for programs in first.
    pub path_prepend: Option<Vec<String>>,
    /// Programs that may read their input without being asked for.
    pub safe_bins: Option<Vec<String>>,
    /// After how long a command goes on in the background.
    #[config(default = 10000)]
    pub background_ms: Option<PositiveInteger>,
    /// How long a command may run.
    #[config(default = 1800)]
    pub timeout_sec: Option<PositiveInteger>,
    /// After how long a command that was approved is said to be still running.
    pub approval_running_notice_ms: Option<NonNegativeInteger>,
    /// How long its output is kept.
    #[config(default = 1800000)]
    pub cleanup_ms: Option<PositiveInteger>,
    /// Whether its end is told.
    #[config(default = true)]
    pub notify_on_exit: Option<bool>,
    /// Changing files by patches.
    #[serde(default)]
    pub apply_patch: ApplyPatch,
}

impl AgentExec {
    /// These settings, and those of all where they say nothing.
    pub(crate) fn over(self, all: &Exec) -> Self {
        Self {
            host: self.host.or_else(|| all.host.clone()),
            security: self.security.or_else(|| all.security.clone()),
            ask: self.ask.or_else(|| all.ask.clone()),
            node: self.node.or_else(|| all.node.clone()),
            path_prepend: self.path_prepend.or_else(|| all.path_prepend.clone()),
            safe_bins: self.safe_bins.or_else(|| all.safe_bins.clone()),
            background_ms: self.background_ms.or(all.background_ms),
            timeout_sec: self.timeout_sec.or(all.timeout_sec),
            approval_running_notice_ms: self.approval_running_notice_ms,
            cleanup_ms: self.cleanup_ms.or(all.cleanup_ms),
            notify_on_exit: self.notify_on_exit.or(all.notify_on_exit),
            apply_patch: ApplyPatch {
                enabled: self.apply_patch.enabled.or(all.apply_patch.enabled),
                allow_models: self.apply_patch.allow_models.or_else(|| all.apply_patch.allow_models.clone()),
            },
        }
    }
}

/// Changing files by patches.
#[section]
pub struct ApplyPatch {
    /// Whether that is on.
    #[config(default = false)]
    pub enabled: Option<bool>,
    /// For which models.
    pub allow_models: Option<Vec<String>>,
}

/// Running commands.
#[section]
pub struct Exec {
    /// Where they run. Default: sandbox.
    pub host: Option<Word<ExecHost>>,
    /// Which may run. Default: deny in the sandbox, elsewhere allowlist.
    pub security: Option<Word<ExecSecurity>>,
    /// When a person is asked. Default: on-miss.
    pub ask: Option<Word<ExecAsk>>,
    /// On which node.
    pub node: Option<String>,
    /// Folders to look for programs in first.
    pub path_prepend: Option<Vec<String>>,
    /// Programs that may read their input without being asked for.
    pub safe_bins: Option<Vec<String>>,
    /// After how long a command goes on in the background.
    #[config(default = 10000)]
    pub background_ms: Option<PositiveInteger>,
    /// How long a command may run.
    #[config(default = 1800)]
    pub timeout_sec: Option<PositiveInteger>,
    /// How long its output is kept.
    #[config(default = 1800000)]
    pub cleanup_ms: Option<PositiveInteger>,
    /// Whether its end is told.
    #[config(default = true)]
    pub notify_on_exit: Option<bool>,
    /// Changing files by patches.
    #[serde(default)]
    pub apply_patch: ApplyPatch,
}

/// Where commands run.
#[section]
#[serde(rename_all = "lowercase")]
pub enum ExecHost {
    Sandbox,
    Gateway,
    Node,
}

/// Which commands may run.
#[section]
#[serde(rename_all = "lowercase")]
pub enum ExecSecurity {
    Deny,
    Allowlist,
    Full,
}

/// When a person is asked.
#[section]
#[serde(rename_all = "kebab-case")]
pub enum ExecAsk {
    Off,
    OnMiss,
    Always,
}
