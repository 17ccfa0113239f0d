//! MISSING agents/heartbeat

use schemars::JsonSchema;

use crate::sections::number::NonNegativeInteger;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Heartbeat {
    pub every: Option<String>,
    pub active_hours: Option<ActiveHours>,
    pub model: Option<String>,
    pub session: Option<String>,
    pub include_reasoning: Option<bool>,
    pub target: Option<String>,
    pub to: Option<String>,
    pub account_id: Option<String>,
    pub prompt: Option<String>,
    pub ack_max_chars: Option<NonNegativeInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActiveHours {
    pub start: Option<String>,
    pub end: Option<String>,
    pub timezone: Option<String>,
}
