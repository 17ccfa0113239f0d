//! `agents.defaults.contextPruning`: old tool results leave the context.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::number::{Fraction, NonNegativeInteger};

/// How old tool results leave the context.
#[section]
pub struct ContextPruning {
    /// Whether they do. Default: off, with Anthropic cache-ttl.
    pub mode: Option<PruningMode>,
    /// How long a provider keeps a prompt.
    #[config(default = "5m")]
    pub ttl: Option<String>,
    /// How many last replies stay whole.
    #[config(default = 3)]
    pub keep_last_assistants: Option<NonNegativeInteger>,
    /// How full the context must be for results to be shortened.
    #[config(default = 0.3)]
    pub soft_trim_ratio: Option<Fraction>,
    /// How full it must be for them to be dropped.
    #[config(default = 0.5)]
    pub hard_clear_ratio: Option<Fraction>,
    /// How much there must be to gain.
    #[config(default = 50000)]
    pub min_prunable_tool_chars: Option<NonNegativeInteger>,
    /// Whose results may go.
    #[serde(default)]
    pub tools: PrunableTools,
    /// What stays of a shortened result.
    #[serde(default)]
    pub soft_trim: SoftTrim,
    /// What stands for a dropped one.
    #[serde(default)]
    pub hard_clear: HardClear,
}

/// Whose results may go, by tool name.
#[section]
pub struct PrunableTools {
    pub allow: Option<Vec<String>>,
    pub deny: Option<Vec<String>>,
}

/// What stays of a shortened result.
#[section]
pub struct SoftTrim {
    /// Longer ones are shortened.
    #[config(default = 4000)]
    pub max_chars: Option<NonNegativeInteger>,
    /// How much of the beginning stays.
    #[config(default = 1500)]
    pub head_chars: Option<NonNegativeInteger>,
    /// How much of the end stays.
    #[config(default = 1500)]
    pub tail_chars: Option<NonNegativeInteger>,
}

/// What stands for a dropped result.
#[section]
pub struct HardClear {
    pub enabled: Option<bool>,
    pub placeholder: Option<String>,
}

/// Whether old tool results leave the context.
#[section]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum PruningMode {
    Off,
    CacheTtl,
}
