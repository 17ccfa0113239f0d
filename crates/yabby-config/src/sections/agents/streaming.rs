//! Replies in pieces: how they are cut, joined and paced.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};

/// How long the pieces of a reply are.
#[section]
pub struct BlockChunks {
    /// The shortest.
    #[config(default = 800)]
    pub min_chars: Option<PositiveInteger>,
    /// The longest.
    #[config(default = 1200)]
    pub max_chars: Option<PositiveInteger>,
    /// Where to cut. Default: at paragraphs.
    pub break_preference: Option<BreakPreference>,
}

/// When small pieces are joined.
#[section]
pub struct BlockCoalescing {
    pub min_chars: Option<PositiveInteger>,
    pub max_chars: Option<PositiveInteger>,
    /// After this long without a new one.
    #[config(default = 1000)]
    pub idle_ms: Option<NonNegativeInteger>,
}

/// Pauses between pieces, as a person would make.
#[section]
pub struct HumanDelay {
    /// Whether there are any. Default: off. Natural ones last 800 to 2500 ms.
    pub mode: Option<HumanDelayMode>,
    /// At least.
    pub min_ms: Option<NonNegativeInteger>,
    /// At most.
    pub max_ms: Option<NonNegativeInteger>,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum BlockStreaming {
    Off,
    On,
}

#[section]
#[serde(rename_all = "snake_case")]
#[schemars(transform = as_literals)]
pub enum BlockStreamingBreak {
    TextEnd,
    MessageEnd,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum BreakPreference {
    Paragraph,
    Newline,
    Sentence,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum HumanDelayMode {
    Off,
    Natural,
    Custom,
}
