//! Reactions, and what is told of them.

use schemars::JsonSchema;

/// What agents may do.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReactionActions {
    pub reactions: Option<bool>,
}

/// Which reactions of people are told to the agent.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OwnReactionNotifications {
    Off,
    Own,
    All,
}

/// How much agents react.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReactionLevel {
    Off,
    Ack,
    Minimal,
    Extensive,
}

/// Which reactions of people are told to the agent.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReactionNotifications {
    Off,
    Own,
    All,
    Allowlist,
}
