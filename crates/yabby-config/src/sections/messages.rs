//! `messages`: what arrives and what is sent.

pub mod queue;
pub mod tts;

use schemars::JsonSchema;

use crate::sections::messages::queue::{InboundDebounce, Queue};
use crate::sections::messages::tts::Tts;
use crate::sections::number::PositiveInteger;

/// Behaviour in groups.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GroupChat {
    /// What counts as being called, as regular expressions. Default: made from the identity.
    pub mention_patterns: Option<Vec<String>>,
    /// How many messages of others are seen. Default: 50, on Discord 20.
    pub history_limit: Option<PositiveInteger>,
}

/// What arrives and what is sent.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Messages {
    /// Text before what arrives.
    pub message_prefix: Option<String>,
    /// Text before replies; may hold `{model}` and the like, `auto` is the agent's name.
    pub response_prefix: Option<String>,
    /// How the assistant behaves in groups.
    pub group_chat: Option<GroupChat>,
    /// What happens to messages that come while a turn runs.
    pub queue: Option<Queue>,
    /// Quick messages in a row are joined.
    pub inbound: Option<InboundDebounce>,
    /// The reaction that says "seen". Default: the agent's emoji or 👀.
    pub ack_reaction: Option<String>,
    /// Where it is used. Default: group-mentions.
    pub ack_reaction_scope: Option<AckReactionScope>,
    /// Whether it goes away with the reply. Default: false.
    pub remove_ack_after_reply: Option<bool>,
    /// Replies as speech.
    pub tts: Option<Tts>,
}

/// Where the reaction that says "seen" is used.
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckReactionScope {
    GroupMentions,
    GroupAll,
    Direct,
    All,
}
