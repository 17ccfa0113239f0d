//! `session.reset`: when a conversation starts anew.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::number::{Hour, PositiveInteger};

/// When a conversation starts anew.
#[section]
pub struct SessionReset {
    /// At an hour of the day, or after a while without messages.
    #[config(default = Daily)]
    pub mode: Option<ResetMode>,
    /// At this hour.
    #[config(default = 4)]
    pub at_hour: Option<Hour>,
    /// After this long. Default: 60 where the mode is idle.
    pub idle_minutes: Option<PositiveInteger>,
}

/// When a conversation starts anew, by kind of chat.
#[section]
pub struct ResetByType {
    pub dm: Option<SessionReset>,
    pub group: Option<SessionReset>,
    pub thread: Option<SessionReset>,
}

/// At an hour of the day, or after a while without messages.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ResetMode {
    Daily,
    Idle,
}
