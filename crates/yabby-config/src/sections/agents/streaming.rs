//! Replies in pieces: how they are cut, joined and paced.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};

/// How long the pieces of a reply are.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlockChunks {
    /// The shortest. Default: 800.
    pub min_chars: Option<PositiveInteger>,
    /// The longest. Default: 1200.
    pub max_chars: Option<PositiveInteger>,
    /// Where to cut. Default: at paragraphs.
    pub break_preference: Option<BreakPreference>,
}

/// When small pieces are joined.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlockCoalescing {
    pub min_chars: Option<PositiveInteger>,
    pub max_chars: Option<PositiveInteger>,
    /// After this long without a new one. Default: 1000.
    pub idle_ms: Option<NonNegativeInteger>,
}

/// Pauses between pieces, as a person would make.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HumanDelay {
    /// Whether there are any. Default: off. Natural ones last 800 to 2500 ms.
    pub mode: Option<HumanDelayMode>,
    /// At least.
    pub min_ms: Option<NonNegativeInteger>,
    /// At most.
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
