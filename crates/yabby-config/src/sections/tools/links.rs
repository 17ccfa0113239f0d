//! `tools.links`: links in messages turned into text.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::number::PositiveInteger;
use crate::sections::session::send_policy::SendPolicy;
use crate::sections::text::NonEmptyText;

/// Links in messages turned into text.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LinkTools {
    pub enabled: Option<bool>,
    pub scope: Option<SendPolicy>,
    pub max_links: Option<PositiveInteger>,
    pub timeout_seconds: Option<PositiveInteger>,
    pub models: Option<Vec<LinkModel>>,
}

/// A program that does it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LinkModel {
    pub r#type: Option<LinkModelType>,
    pub command: NonEmptyText,
    pub args: Option<Vec<String>>,
    pub timeout_seconds: Option<PositiveInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum LinkModelType {
    Cli,
}
