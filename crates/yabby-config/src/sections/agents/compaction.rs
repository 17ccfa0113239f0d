//! MISSING agents/compaction

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::number::{NonNegativeInteger, Number};

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Compaction {
    pub mode: Option<CompactionMode>,
    pub reserve_tokens_floor: Option<NonNegativeInteger>,
    #[schemars(range(min = 0.1, max = 0.9))]
    pub max_history_share: Option<Number>,
    pub memory_flush: Option<MemoryFlush>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryFlush {
    pub enabled: Option<bool>,
    pub soft_threshold_tokens: Option<NonNegativeInteger>,
    pub prompt: Option<String>,
    pub system_prompt: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum CompactionMode {
    Default,
    Safeguard,
}
