//! `heartbeat`: turns that nobody asked for.

use yabby_config_derive::section;

use crate::sections::number::NonNegativeInteger;

/// Turns that nobody asked for.
#[section]
pub struct Heartbeat {
    /// How often, as a duration; `0m` is never. Default: 30m, with a subscription 1h.
    pub every: Option<String>,
    /// Only at these hours.
    #[serde(default)]
    pub active_hours: ActiveHours,
    /// With another model.
    pub model: Option<String>,
    /// In which session.
    #[config(default = "main")]
    pub session: Option<String>,
    /// Whether thoughts are sent too.
    pub include_reasoning: Option<bool>,
    /// Where replies go: `last`, `none` or a channel.
    #[config(default = "last")]
    pub target: Option<String>,
    /// To whom on that channel.
    pub to: Option<String>,
    /// From which account.
    pub account_id: Option<String>,
    /// What the agent is asked.
    pub prompt: Option<String>,
    /// How long a reply may be to count as "nothing to do".
    #[config(default = 300)]
    pub ack_max_chars: Option<NonNegativeInteger>,
}

/// Hours of the day, as `HH:MM`.
#[section]
pub struct ActiveHours {
    pub start: Option<String>,
    /// Up to; `24:00` is the end of the day.
    pub end: Option<String>,
    pub timezone: Option<String>,
}
