//! MISSING channels/delivery

use schemars::JsonSchema;

use crate::sections::literal::as_literals;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Markdown {
    pub tables: Option<MarkdownTables>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MarkdownTables {
    Off,
    Bullets,
    Code,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChunkMode {
    Length,
    Newline,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ReplyToMode {
    Off,
    First,
    All,
}
