//! Rules that allow or deny by channel, kind of chat and session key.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::word::Word;

/// Rules that allow or deny.
#[section]
pub struct SendPolicy {
    /// Where no rule fits. Default: allow.
    pub default: Option<Word<SendAction>>,
    /// The rules; a denial wins.
    #[serde(default)]
    pub rules: Vec<SendRule>,
}

/// What is done where it fits.
#[section]
pub struct SendRule {
    #[config(or_default)]
    pub action: Word<SendAction>,
    #[serde(default)]
    pub r#match: SendMatch,
}

/// Where a rule fits; everything that is said must.
#[section]
pub struct SendMatch {
    pub channel: Option<String>,
    pub chat_type: Option<Word<ChatType>>,
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
