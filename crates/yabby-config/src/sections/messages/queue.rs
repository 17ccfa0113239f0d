//! `messages.queue`, `messages.inbound`: messages that come while a turn runs, and quick ones in a
//! row.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};

/// What happens to messages that come while a turn runs.
#[section]
pub struct Queue {
    /// What happens to them.
    #[config(default = Collect)]
    pub mode: Option<QueueMode>,
    /// The same by channel.
    #[serde(default)]
    pub by_channel: QueueByChannel,
    /// How long to wait for more.
    #[config(default = 1000)]
    pub debounce_ms: Option<NonNegativeInteger>,
    /// The same by channel.
    pub debounce_ms_by_channel: Option<Map<NonNegativeInteger>>,
    /// How many may wait.
    #[config(default = 20)]
    pub cap: Option<PositiveInteger>,
    /// Which go when there are more.
    #[config(default = Summarize)]
    pub drop: Option<QueueDrop>,
}

/// What happens to such messages, by channel.
#[section]
pub struct QueueByChannel {
    pub whatsapp: Option<QueueMode>,
    pub telegram: Option<QueueMode>,
    pub discord: Option<QueueMode>,
    pub slack: Option<QueueMode>,
    pub mattermost: Option<QueueMode>,
    pub signal: Option<QueueMode>,
    pub imessage: Option<QueueMode>,
    pub msteams: Option<QueueMode>,
    pub webchat: Option<QueueMode>,
}

/// Quick messages in a row are joined.
#[section]
pub struct InboundDebounce {
    /// How long to wait for the next.
    #[config(default = 0)]
    pub debounce_ms: Option<NonNegativeInteger>,
    /// The same by channel.
    pub by_channel: Option<Map<NonNegativeInteger>>,
}

/// What happens to a message that comes while a turn runs.
#[section]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum QueueMode {
    Steer,
    Followup,
    Collect,
    SteerBacklog,
    #[serde(rename = "steer+backlog")]
    SteerPlusBacklog,
    Queue,
    Interrupt,
}

/// Which messages go when too many wait.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum QueueDrop {
    Old,
    New,
    Summarize,
}
