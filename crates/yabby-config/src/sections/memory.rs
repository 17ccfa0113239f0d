//! `memory`: which program keeps the memory.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};
use crate::sections::session::send_policy::SendPolicy;

/// Which program keeps the memory.
#[section]
pub struct Memory {
    /// Who keeps the memory.
    #[config(default = Builtin)]
    pub backend: Option<MemoryBackend>,
    /// Whether results say where they are from.
    #[config(default = Auto)]
    pub citations: Option<Citations>,
    /// The program `qmd`.
    #[serde(default)]
    pub qmd: Qmd,
}

/// The program `qmd`.
#[section]
pub struct Qmd {
    pub command: Option<String>,
    pub include_default_memory: Option<bool>,
    pub paths: Option<Vec<QmdPath>>,
    #[serde(default)]
    pub sessions: QmdSessions,
    #[serde(default)]
    pub update: QmdUpdate,
    #[serde(default)]
    pub limits: QmdLimits,
    #[serde(default)]
    pub scope: SendPolicy,
}

/// A folder it indexes.
#[section]
pub struct QmdPath {
    pub path: String,
    pub name: Option<String>,
    pub pattern: Option<String>,
}

/// Past sessions for it.
#[section]
pub struct QmdSessions {
    pub enabled: Option<bool>,
    pub export_dir: Option<String>,
    pub retention_days: Option<NonNegativeInteger>,
}

/// When it looks for changes.
#[section]
pub struct QmdUpdate {
    pub interval: Option<String>,
    pub debounce_ms: Option<NonNegativeInteger>,
    pub on_boot: Option<bool>,
    pub embed_interval: Option<String>,
}

/// How much it may return.
#[section]
pub struct QmdLimits {
    pub max_results: Option<PositiveInteger>,
    pub max_snippet_chars: Option<PositiveInteger>,
    pub max_injected_chars: Option<PositiveInteger>,
    pub timeout_ms: Option<NonNegativeInteger>,
}

/// Who keeps the memory.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum MemoryBackend {
    Builtin,
    Qmd,
}

/// Whether results say where they are from.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum Citations {
    Auto,
    On,
    Off,
}
