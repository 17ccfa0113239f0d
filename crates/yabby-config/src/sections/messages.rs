//! `messages`: what arrives and what is sent.

pub mod queue;
pub mod tts;

use yabby_config_derive::section;

use crate::sections::messages::queue::{InboundDebounce, Queue};
use crate::sections::messages::tts::Tts;
use crate::sections::number::PositiveInteger;
use crate::sections::or_null::OrNull;

/// Behaviour in groups.
#[section]
pub struct GroupChat {
    /// What counts as being called, as regular expressions. Default: made from the identity.
    pub mention_patterns: Option<OrNull<Vec<String>>>,
    /// How many messages of others are seen. Default: 50, on Discord 20.
    pub history_limit: Option<PositiveInteger>,
}

/// What arrives and what is sent.
#[section]
pub struct Messages {
    /// Text before what arrives.
    pub message_prefix: Option<String>,
    /// Text before replies; may hold `{model}` and the like, `auto` is the agent's name.
    pub response_prefix: Option<String>,
    /// How the assistant behaves in groups.
    #[serde(default)]
    pub group_chat: GroupChat,
    /// What happens to messages that come while a turn runs.
    #[serde(default)]
    pub queue: Queue,
    /// Quick messages in a row are joined.
    #[serde(default)]
    pub inbound: InboundDebounce,
    /// The reaction that says "seen". Default: the agent's emoji or 👀.
    pub ack_reaction: Option<String>,
    /// Where it is used.
    #[config(default = GroupMentions)]
    pub ack_reaction_scope: Option<AckReactionScope>,
    /// Whether it goes away with the reply.
    #[config(default = false)]
    pub remove_ack_after_reply: Option<bool>,
    /// Replies as speech.
    #[serde(default)]
    pub tts: Tts,
}

/// Where the reaction that says "seen" is used.
#[section]
#[serde(rename_all = "kebab-case")]
pub enum AckReactionScope {
    GroupMentions,
    GroupAll,
    Direct,
    All,
}
