//! Rules that allow or deny by channel, kind of chat and session key.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;

/// Rules that allow or deny.
#[section]
pub struct SendPolicy {
    /// Where no rule fits. Default: allow.
    pub default: Option<SendAction>,
    /// The rules; a denial wins.
    pub rules: Option<Vec<SendRule>>,
}

/// What is done where it fits.
#[section]
pub struct SendRule {
    pub action: SendAction,
    #[serde(default)]
    pub r#match: SendMatch,
}

/// Where a rule fits; everything that is said must.
#[section]
pub struct SendMatch {
    pub channel: Option<String>,
    pub chat_type: Option<ChatType>,
    /// How the session key begins.
    pub key_prefix: Option<String>,
}

/// Allow or deny.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum SendAction {
    Allow,
    Deny,
}

/// A kind of chat.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ChatType {
    Direct,
    Group,
    Channel,
}
