//! `session.reset`: when a conversation starts anew.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::number::{Hour, PositiveInteger};

/// When a conversation starts anew.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionReset {
    /// At an hour of the day, or after a while without messages. Default: daily.
    pub mode: Option<ResetMode>,
    /// At this hour. Default: 4.
    pub at_hour: Option<Hour>,
    /// After this long. Default: 60 where the mode is idle.
    pub idle_minutes: Option<PositiveInteger>,
}

/// When a conversation starts anew, by kind of chat.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResetByType {
    pub dm: Option<SessionReset>,
    pub group: Option<SessionReset>,
    pub thread: Option<SessionReset>,
}

/// At an hour of the day, or after a while without messages.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ResetMode {
    Daily,
    Idle,
}
