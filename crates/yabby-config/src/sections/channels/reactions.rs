//! MISSING channels/reactions

use schemars::JsonSchema;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReactionActions {
    pub reactions: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OwnReactionNotifications {
    Off,
    Own,
    All,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReactionLevel {
    Off,
    Ack,
    Minimal,
    Extensive,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReactionNotifications {
    Off,
    Own,
    All,
    Allowlist,
}
