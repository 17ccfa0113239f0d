//! `session`: which messages share a conversation, and for how long.

pub mod reset;
pub mod send_policy;

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};
use crate::sections::session::reset::{ResetByType, SessionReset};
use crate::sections::session::send_policy::SendPolicy;

/// Which messages share a conversation, and for how long.
#[section]
pub struct Session {
    /// One conversation per sender, or one for all.
    #[config(default = PerSender)]
    pub scope: Option<SessionScope>,
    /// What direct messages share.
    #[config(default = Main, live)]
    pub dm_scope: Option<DmScope>,
    /// People under several names: a name, and `channel:peer` ids.
    #[config(live)]
    pub identity_links: Option<Map<Vec<String>>>,
    /// Words that start a new conversation. Default: /new and /reset.
    #[config(live)]
    pub reset_triggers: Option<Vec<String>>,
    /// The old form of `reset` by idle time.
    #[config(live)]
    pub idle_minutes: Option<PositiveInteger>,
    /// When a conversation starts anew.
    #[config(live)]
    pub reset: Option<SessionReset>,
    /// The same by kind of chat.
    #[config(live)]
    pub reset_by_type: Option<ResetByType>,
    /// The same by channel.
    #[config(live)]
    pub reset_by_channel: Option<Map<SessionReset>>,
    /// The file of all sessions; may hold `{agentId}`.
    pub store: Option<String>,
    /// How often "is typing" is repeated.
    #[config(default = 6)]
    pub typing_interval_seconds: Option<PositiveInteger>,
    /// When "is typing" is shown.
    pub typing_mode: Option<TypingMode>,
    /// Ignored: the main session is always `main`.
    pub main_key: Option<String>,
    /// Which sessions may send.
    #[config(live)]
    #[serde(default)]
    pub send_policy: SendPolicy,
    /// Agents that talk to each other.
    #[serde(default)]
    pub agent_to_agent: SessionAgentToAgent,
}

/// Agents that talk to each other.
#[section]
pub struct SessionAgentToAgent {
    /// How often they may answer each other.
    #[config(default = 5)]
    #[schemars(range(min = 0, max = 5))]
    pub max_ping_pong_turns: Option<NonNegativeInteger>,
}

/// When "is typing" is shown.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum TypingMode {
    Never,
    Instant,
    Thinking,
    Message,
}

/// One conversation per sender, or one for all.
#[section]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
#[derive(Default)]
pub enum SessionScope {
    #[default]
    PerSender,
    Global,
}

/// What direct messages share a conversation.
#[section]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
#[derive(Default)]
pub enum DmScope {
    #[default]
    Main,
    PerPeer,
    PerChannelPeer,
    PerAccountChannelPeer,
}
