//! MISSING memory

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};
use crate::sections::session::send_policy::SendPolicy;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Memory {
    pub backend: Option<MemoryBackend>,
    pub citations: Option<Citations>,
    pub qmd: Option<Qmd>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Qmd {
    pub command: Option<String>,
    pub include_default_memory: Option<bool>,
    pub paths: Option<Vec<QmdPath>>,
    pub sessions: Option<QmdSessions>,
    pub update: Option<QmdUpdate>,
    pub limits: Option<QmdLimits>,
    pub scope: Option<SendPolicy>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QmdPath {
    pub path: String,
    pub name: Option<String>,
    pub pattern: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QmdSessions {
    pub enabled: Option<bool>,
    pub export_dir: Option<String>,
    pub retention_days: Option<NonNegativeInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QmdUpdate {
    pub interval: Option<String>,
    pub debounce_ms: Option<NonNegativeInteger>,
    pub on_boot: Option<bool>,
    pub embed_interval: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QmdLimits {
    pub max_results: Option<PositiveInteger>,
    pub max_snippet_chars: Option<PositiveInteger>,
    pub max_injected_chars: Option<PositiveInteger>,
    pub timeout_ms: Option<NonNegativeInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum MemoryBackend {
    Builtin,
    Qmd,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum Citations {
    Auto,
    On,
    Off,
}
