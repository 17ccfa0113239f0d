//! MISSING channels/whatsapp

use schemars::JsonSchema;

use crate::sections::agents::streaming::BlockCoalescing;
use crate::sections::channels::access::{DirectChat, DmPolicy, Group, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, Markdown};
use crate::sections::channels::heartbeat_visibility::HeartbeatVisibility;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Whatsapp {
    pub accounts: Option<Map<WhatsappAccount>>,
    pub capabilities: Option<Vec<String>>,
    pub markdown: Option<Markdown>,
    pub config_writes: Option<bool>,
    pub send_read_receipts: Option<bool>,
    #[schemars(extend("default" = "pairing"))]
    pub dm_policy: Option<DmPolicy>,
    pub message_prefix: Option<String>,
    pub response_prefix: Option<String>,
    pub self_chat_mode: Option<bool>,
    pub allow_from: Option<Vec<String>>,
    pub group_allow_from: Option<Vec<String>>,
    #[schemars(extend("default" = "allowlist"))]
    pub group_policy: Option<GroupPolicy>,
    pub history_limit: Option<NonNegativeInteger>,
    pub dm_history_limit: Option<NonNegativeInteger>,
    pub dms: Option<Map<DirectChat>>,
    pub text_chunk_limit: Option<PositiveInteger>,
    pub chunk_mode: Option<ChunkMode>,
    #[schemars(extend("default" = 50))]
    pub media_max_mb: Option<PositiveInteger>,
    pub block_streaming: Option<bool>,
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    pub actions: Option<WhatsappActions>,
    pub groups: Option<Map<Group>>,
    pub ack_reaction: Option<WhatsappAckReaction>,
    #[schemars(extend("default" = 0))]
    pub debounce_ms: Option<NonNegativeInteger>,
    pub heartbeat: Option<HeartbeatVisibility>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WhatsappAccount {
    pub name: Option<String>,
    pub capabilities: Option<Vec<String>>,
    pub markdown: Option<Markdown>,
    pub config_writes: Option<bool>,
    pub enabled: Option<bool>,
    pub send_read_receipts: Option<bool>,
    pub message_prefix: Option<String>,
    pub response_prefix: Option<String>,
    pub auth_dir: Option<String>,
    #[schemars(extend("default" = "pairing"))]
    pub dm_policy: Option<DmPolicy>,
    pub self_chat_mode: Option<bool>,
    pub allow_from: Option<Vec<String>>,
    pub group_allow_from: Option<Vec<String>>,
    #[schemars(extend("default" = "allowlist"))]
    pub group_policy: Option<GroupPolicy>,
    pub history_limit: Option<NonNegativeInteger>,
    pub dm_history_limit: Option<NonNegativeInteger>,
    pub dms: Option<Map<DirectChat>>,
    pub text_chunk_limit: Option<PositiveInteger>,
    pub chunk_mode: Option<ChunkMode>,
    pub media_max_mb: Option<PositiveInteger>,
    pub block_streaming: Option<bool>,
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    pub groups: Option<Map<Group>>,
    pub ack_reaction: Option<WhatsappAckReaction>,
    #[schemars(extend("default" = 0))]
    pub debounce_ms: Option<NonNegativeInteger>,
    pub heartbeat: Option<HeartbeatVisibility>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WhatsappAckReaction {
    pub emoji: Option<String>,
    #[schemars(extend("default" = true))]
    pub direct: Option<bool>,
    #[schemars(extend("default" = "mentions"))]
    pub group: Option<WhatsappGroupAck>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WhatsappActions {
    pub reactions: Option<bool>,
    pub send_message: Option<bool>,
    pub polls: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhatsappGroupAck {
    Always,
    Mentions,
    Never,
}
