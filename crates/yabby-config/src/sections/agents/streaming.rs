//! MISSING agents/streaming

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlockChunks {
    pub min_chars: Option<PositiveInteger>,
    pub max_chars: Option<PositiveInteger>,
    pub break_preference: Option<BreakPreference>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlockCoalescing {
    pub min_chars: Option<PositiveInteger>,
    pub max_chars: Option<PositiveInteger>,
    pub idle_ms: Option<NonNegativeInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HumanDelay {
    pub mode: Option<HumanDelayMode>,
    pub min_ms: Option<NonNegativeInteger>,
    pub max_ms: Option<NonNegativeInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum BlockStreaming {
    Off,
    On,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = as_literals)]
pub enum BlockStreamingBreak {
    TextEnd,
    MessageEnd,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum BreakPreference {
    Paragraph,
    Newline,
    Sentence,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum HumanDelayMode {
    Off,
    Natural,
    Custom,
}
