//! How replies are cut and addressed.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;

/// How Markdown is turned into what the platform can show.
#[section]
pub struct Markdown {
    /// What becomes of tables.
    pub tables: Option<MarkdownTables>,
}

/// What becomes of tables.
#[section]
#[serde(rename_all = "lowercase")]
pub enum MarkdownTables {
    Off,
    Bullets,
    Code,
}

/// Where long replies are cut: by length, or at line ends.
#[section]
#[serde(rename_all = "lowercase")]
pub enum ChunkMode {
    Length,
    Newline,
}

/// Which pieces of a reply quote the message they answer.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ReplyToMode {
    Off,
    First,
    All,
}
