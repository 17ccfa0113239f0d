//! `agents.defaults.compaction`: long sessions are folded into a summary.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::number::{NonNegativeInteger, Number};

/// How long sessions are folded into a summary.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Compaction {
    /// How careful that is. Default: safeguard.
    pub mode: Option<CompactionMode>,
    /// How many tokens stay free at least. Default: 20000.
    pub reserve_tokens_floor: Option<NonNegativeInteger>,
    /// How much of the context history may fill. Default: 0.5.
    #[schemars(range(min = 0.1, max = 0.9))]
    pub max_history_share: Option<Number>,
    /// A turn before, in which the agent notes what it wants to keep.
    pub memory_flush: Option<MemoryFlush>,
}

/// A turn before folding, in which the agent notes what it wants to keep.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryFlush {
    /// Whether there is one. Default: true.
    pub enabled: Option<bool>,
    /// How many tokens before the limit. Default: 4000.
    pub soft_threshold_tokens: Option<NonNegativeInteger>,
    /// What the agent is asked.
    pub prompt: Option<String>,
    /// What it is told for that turn.
    pub system_prompt: Option<String>,
}

/// How careful folding is.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum CompactionMode {
    Default,
    Safeguard,
}
