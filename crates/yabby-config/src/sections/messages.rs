//! MISSING messages

pub mod queue;
pub mod tts;

use schemars::JsonSchema;

use crate::sections::messages::queue::{InboundDebounce, Queue};
use crate::sections::messages::tts::Tts;
use crate::sections::number::PositiveInteger;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GroupChat {
    pub mention_patterns: Option<Vec<String>>,
    pub history_limit: Option<PositiveInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Messages {
    pub message_prefix: Option<String>,
    pub response_prefix: Option<String>,
    pub group_chat: Option<GroupChat>,
    pub queue: Option<Queue>,
    pub inbound: Option<InboundDebounce>,
    pub ack_reaction: Option<String>,
    pub ack_reaction_scope: Option<AckReactionScope>,
    pub remove_ack_after_reply: Option<bool>,
    pub tts: Option<Tts>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckReactionScope {
    GroupMentions,
    GroupAll,
    Direct,
    All,
}
