//! `heartbeat`: turns that nobody asked for.

use schemars::JsonSchema;

use crate::sections::number::NonNegativeInteger;

/// Turns that nobody asked for.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Heartbeat {
    /// How often, as a duration; `0m` is never. Default: 30m, with a subscription 1h.
    pub every: Option<String>,
    /// Only at these hours.
    pub active_hours: Option<ActiveHours>,
    /// With another model.
    pub model: Option<String>,
    /// In which session. Default: main.
    pub session: Option<String>,
    /// Whether thoughts are sent too.
    pub include_reasoning: Option<bool>,
    /// Where replies go: `last`, `none` or a channel. Default: last.
    pub target: Option<String>,
    /// To whom on that channel.
    pub to: Option<String>,
    /// From which account.
    pub account_id: Option<String>,
    /// What the agent is asked.
    pub prompt: Option<String>,
    /// How long a reply may be to count as "nothing to do". Default: 300.
    pub ack_max_chars: Option<NonNegativeInteger>,
}

/// Hours of the day, as `HH:MM`.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActiveHours {
    pub start: Option<String>,
    /// Up to; `24:00` is the end of the day.
    pub end: Option<String>,
    pub timezone: Option<String>,
}
