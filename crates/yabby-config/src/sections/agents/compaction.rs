//! `agents.defaults.compaction`: long sessions are folded into a summary.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::number::{NonNegativeInteger, Number};

/// How long sessions are folded into a summary.
#[section]
pub struct Compaction {
    /// How careful that is.
    #[config(default = Safeguard)]
    pub mode: Option<CompactionMode>,
    /// How many tokens stay free at least.
    #[config(default = 20000)]
    pub reserve_tokens_floor: Option<NonNegativeInteger>,
    /// How much of the context history may fill.
    #[config(default = 0.5)]
    #[schemars(range(min = 0.1, max = 0.9))]
    pub max_history_share: Option<Number>,
    /// A turn before, in which the agent notes what it wants to keep.
    #[serde(default)]
    pub memory_flush: MemoryFlush,
}

/// A turn before folding, in which the agent notes what it wants to keep.
#[section]
pub struct MemoryFlush {
    /// Whether there is one.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// How many tokens before the limit.
    #[config(default = 4000)]
    pub soft_threshold_tokens: Option<NonNegativeInteger>,
    /// What the agent is asked.
    pub prompt: Option<String>,
    /// What it is told for that turn.
    pub system_prompt: Option<String>,
}

/// How careful folding is.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum CompactionMode {
    Default,
    Safeguard,
}
