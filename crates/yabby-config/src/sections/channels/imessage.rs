//! MISSING channels/imessage

use schemars::JsonSchema;

use crate::sections::agents::streaming::BlockCoalescing;
use crate::sections::channels::access::{DirectChat, DmPolicy, Group, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, Markdown};
use crate::sections::channels::heartbeat_visibility::HeartbeatVisibility;
use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};
use crate::sections::text::{Executable, TextOrNumber};

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Imessage {
    #[serde(flatten)]
    pub account: ImessageAccount,
    pub accounts: Option<Map<ImessageAccount>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImessageAccount {
    pub name: Option<String>,
    pub capabilities: Option<Vec<String>>,
    pub markdown: Option<Markdown>,
    pub enabled: Option<bool>,
    pub config_writes: Option<bool>,
    pub cli_path: Option<Executable>,
    pub db_path: Option<String>,
    pub remote_host: Option<String>,
    pub service: Option<ImessageService>,
    pub region: Option<String>,
    #[schemars(extend("default" = "pairing"))]
    pub dm_policy: Option<DmPolicy>,
    pub allow_from: Option<Vec<TextOrNumber>>,
    pub group_allow_from: Option<Vec<TextOrNumber>>,
    #[schemars(extend("default" = "allowlist"))]
    pub group_policy: Option<GroupPolicy>,
    pub history_limit: Option<NonNegativeInteger>,
    pub dm_history_limit: Option<NonNegativeInteger>,
    pub dms: Option<Map<DirectChat>>,
    pub include_attachments: Option<bool>,
    pub media_max_mb: Option<PositiveInteger>,
    pub text_chunk_limit: Option<PositiveInteger>,
    pub chunk_mode: Option<ChunkMode>,
    pub block_streaming: Option<bool>,
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    pub groups: Option<Map<Group>>,
    pub heartbeat: Option<HeartbeatVisibility>,
    pub response_prefix: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ImessageService {
    Imessage,
    Sms,
    Auto,
}
