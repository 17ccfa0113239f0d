//! MISSING tools/exec

use schemars::JsonSchema;

use crate::sections::number::{NonNegativeInteger, PositiveInteger};

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentExec {
    pub host: Option<ExecHost>,
    pub security: Option<ExecSecurity>,
    pub ask: Option<ExecAsk>,
    pub node: Option<String>,
    pub path_prepend: Option<Vec<String>>,
    pub safe_bins: Option<Vec<String>>,
    pub background_ms: Option<PositiveInteger>,
    pub timeout_sec: Option<PositiveInteger>,
    pub approval_running_notice_ms: Option<NonNegativeInteger>,
    pub cleanup_ms: Option<PositiveInteger>,
    pub notify_on_exit: Option<bool>,
    pub apply_patch: Option<ApplyPatch>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApplyPatch {
    pub enabled: Option<bool>,
    pub allow_models: Option<Vec<String>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exec {
    pub host: Option<ExecHost>,
    pub security: Option<ExecSecurity>,
    pub ask: Option<ExecAsk>,
    pub node: Option<String>,
    pub path_prepend: Option<Vec<String>>,
    pub safe_bins: Option<Vec<String>>,
    pub background_ms: Option<PositiveInteger>,
    pub timeout_sec: Option<PositiveInteger>,
    pub cleanup_ms: Option<PositiveInteger>,
    pub notify_on_exit: Option<bool>,
    pub apply_patch: Option<ApplyPatch>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExecHost {
    Sandbox,
    Gateway,
    Node,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExecSecurity {
    Deny,
    Allowlist,
    Full,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExecAsk {
    Off,
    OnMiss,
    Always,
}
