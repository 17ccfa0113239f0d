//! Rules that allow or deny by channel, kind of chat and session key.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;

/// Rules that allow or deny.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendPolicy {
    /// Where no rule fits. Default: allow.
    pub default: Option<SendAction>,
    /// The rules; a denial wins.
    pub rules: Option<Vec<SendRule>>,
}

/// What is done where it fits.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendRule {
    pub action: SendAction,
    pub r#match: Option<SendMatch>,
}

/// Where a rule fits; everything that is said must.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendMatch {
    pub channel: Option<String>,
    pub chat_type: Option<ChatType>,
    /// How the session key begins.
    pub key_prefix: Option<String>,
}

/// Allow or deny.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum SendAction {
    Allow,
    Deny,
}

/// A kind of chat.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ChatType {
    Direct,
    Group,
    Channel,
}
