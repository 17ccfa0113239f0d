//! How replies are cut and addressed.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;

/// How Markdown is turned into what the platform can show.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Markdown {
    /// What becomes of tables.
    pub tables: Option<MarkdownTables>,
}

/// What becomes of tables.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MarkdownTables {
    Off,
    Bullets,
    Code,
}

/// Where long replies are cut: by length, or at line ends.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChunkMode {
    Length,
    Newline,
}

/// Which pieces of a reply quote the message they answer.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ReplyToMode {
    Off,
    First,
    All,
}
