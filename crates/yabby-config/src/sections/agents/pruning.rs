//! `agents.defaults.contextPruning`: old tool results leave the context.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::number::{Fraction, NonNegativeInteger};

/// How old tool results leave the context.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextPruning {
    /// Whether they do. Default: off, with Anthropic cache-ttl.
    pub mode: Option<PruningMode>,
    /// How long a provider keeps a prompt. Default: 5m.
    pub ttl: Option<String>,
    /// How many last replies stay whole. Default: 3.
    pub keep_last_assistants: Option<NonNegativeInteger>,
    /// How full the context must be for results to be shortened. Default: 0.3.
    pub soft_trim_ratio: Option<Fraction>,
    /// How full it must be for them to be dropped. Default: 0.5.
    pub hard_clear_ratio: Option<Fraction>,
    /// How much there must be to gain. Default: 50000.
    pub min_prunable_tool_chars: Option<NonNegativeInteger>,
    /// Whose results may go.
    pub tools: Option<PrunableTools>,
    /// What stays of a shortened result.
    pub soft_trim: Option<SoftTrim>,
    /// What stands for a dropped one.
    pub hard_clear: Option<HardClear>,
}

/// Whose results may go, by tool name.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PrunableTools {
    pub allow: Option<Vec<String>>,
    pub deny: Option<Vec<String>>,
}

/// What stays of a shortened result.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SoftTrim {
    /// Longer ones are shortened. Default: 4000.
    pub max_chars: Option<NonNegativeInteger>,
    /// How much of the beginning stays. Default: 1500.
    pub head_chars: Option<NonNegativeInteger>,
    /// How much of the end stays. Default: 1500.
    pub tail_chars: Option<NonNegativeInteger>,
}

/// What stands for a dropped result.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HardClear {
    pub enabled: Option<bool>,
    pub placeholder: Option<String>,
}

/// Whether old tool results leave the context.
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum PruningMode {
    Off,
    CacheTtl,
}
