//! `memory`: which program keeps the memory.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};
use crate::sections::session::send_policy::SendPolicy;

/// Which program keeps the memory.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Memory {
    /// Who keeps the memory. Default: builtin.
    pub backend: Option<MemoryBackend>,
    /// Whether results say where they are from. Default: auto.
    pub citations: Option<Citations>,
    /// The program `qmd`.
    pub qmd: Option<Qmd>,
}

/// The program `qmd`.
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

/// A folder it indexes.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QmdPath {
    pub path: String,
    pub name: Option<String>,
    pub pattern: Option<String>,
}

/// Past sessions for it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QmdSessions {
    pub enabled: Option<bool>,
    pub export_dir: Option<String>,
    pub retention_days: Option<NonNegativeInteger>,
}

/// When it looks for changes.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QmdUpdate {
    pub interval: Option<String>,
    pub debounce_ms: Option<NonNegativeInteger>,
    pub on_boot: Option<bool>,
    pub embed_interval: Option<String>,
}

/// How much it may return.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QmdLimits {
    pub max_results: Option<PositiveInteger>,
    pub max_snippet_chars: Option<PositiveInteger>,
    pub max_injected_chars: Option<PositiveInteger>,
    pub timeout_ms: Option<NonNegativeInteger>,
}

/// Who keeps the memory.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum MemoryBackend {
    Builtin,
    Qmd,
}

/// Whether results say where they are from.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum Citations {
    Auto,
    On,
    Off,
}
