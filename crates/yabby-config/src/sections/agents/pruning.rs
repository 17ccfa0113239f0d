//! MISSING agents/pruning

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::number::{Fraction, NonNegativeInteger};

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextPruning {
    pub mode: Option<PruningMode>,
    pub ttl: Option<String>,
    pub keep_last_assistants: Option<NonNegativeInteger>,
    pub soft_trim_ratio: Option<Fraction>,
    pub hard_clear_ratio: Option<Fraction>,
    pub min_prunable_tool_chars: Option<NonNegativeInteger>,
    pub tools: Option<PrunableTools>,
    pub soft_trim: Option<SoftTrim>,
    pub hard_clear: Option<HardClear>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PrunableTools {
    pub allow: Option<Vec<String>>,
    pub deny: Option<Vec<String>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SoftTrim {
    pub max_chars: Option<NonNegativeInteger>,
    pub head_chars: Option<NonNegativeInteger>,
    pub tail_chars: Option<NonNegativeInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HardClear {
    pub enabled: Option<bool>,
    pub placeholder: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum PruningMode {
    Off,
    CacheTtl,
}
