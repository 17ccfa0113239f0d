//! `tools.links`: links in messages turned into text.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::number::PositiveInteger;
use crate::sections::session::send_policy::SendPolicy;
use crate::sections::text::NonEmptyText;

/// Links in messages turned into text.
#[section]
pub struct LinkTools {
    pub enabled: Option<bool>,
    #[serde(default)]
    pub scope: SendPolicy,
    pub max_links: Option<PositiveInteger>,
    pub timeout_seconds: Option<PositiveInteger>,
    pub models: Option<Vec<LinkModel>>,
}

/// A program that does it.
#[section]
pub struct LinkModel {
    pub r#type: Option<LinkModelType>,
    pub command: NonEmptyText,
    pub args: Option<Vec<String>>,
    pub timeout_seconds: Option<PositiveInteger>,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum LinkModelType {
    Cli,
}
