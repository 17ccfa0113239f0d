//! Reactions, and what is told of them.

use yabby_config_derive::section;

/// What agents may do.
#[section]
pub struct ReactionActions {
    pub reactions: Option<bool>,
}

/// Which reactions of people are told to the agent.
#[section]
#[serde(rename_all = "lowercase")]
pub enum OwnReactionNotifications {
    Off,
    Own,
    All,
}

/// How much agents react.
#[section]
#[serde(rename_all = "lowercase")]
pub enum ReactionLevel {
    Off,
    Ack,
    Minimal,
    Extensive,
}

/// Which reactions of people are told to the agent.
#[section]
#[serde(rename_all = "lowercase")]
pub enum ReactionNotifications {
    Off,
    Own,
    All,
    Allowlist,
}
