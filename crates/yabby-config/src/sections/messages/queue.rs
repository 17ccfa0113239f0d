//! `messages.queue`, `messages.inbound`: messages that come while a turn runs, and quick ones in a
//! row.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};
use crate::sections::word::Word;

/// What happens to messages that come while a turn runs.
#[section]
pub struct Queue {
    /// What happens to them. Default: collect.
    pub mode: Option<Word<QueueMode>>,
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
    /// Which go when there are more. Default: summarize.
    pub drop: Option<Word<QueueDrop>>,
}

/// What happens to such messages, by channel.
#[section]
pub struct QueueByChannel {
    pub whatsapp: Option<Word<QueueMode>>,
    pub telegram: Option<Word<QueueMode>>,
    pub discord: Option<Word<QueueMode>>,
    pub slack: Option<Word<QueueMode>>,
    pub mattermost: Option<Word<QueueMode>>,
    pub signal: Option<Word<QueueMode>>,
    pub imessage: Option<Word<QueueMode>>,
    pub msteams: Option<Word<QueueMode>>,
    pub webchat: Option<Word<QueueMode>>,
}

impl QueueByChannel {
    /// What is said for a channel, if it is one of those that anything can be said for.
    pub fn of(&self, channel: &str) -> Option<&Word<QueueMode>> {
        match channel {
            "whatsapp" => self.whatsapp.as_ref(),
            "telegram" => self.telegram.as_ref(),
            "discord" => self.discord.as_ref(),
            "slack" => self.slack.as_ref(),
            "mattermost" => self.mattermost.as_ref(),
            "signal" => self.signal.as_ref(),
            "imessage" => self.imessage.as_ref(),
            "msteams" => self.msteams.as_ref(),
            "webchat" => self.webchat.as_ref(),
            _ => None,
        }
    }
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
