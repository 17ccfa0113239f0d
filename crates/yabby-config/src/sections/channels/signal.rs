//! MISSING channels/signal

use schemars::JsonSchema;

use crate::sections::agents::streaming::BlockCoalescing;
use crate::sections::channels::access::{DirectChat, DmPolicy, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, Markdown};
use crate::sections::channels::heartbeat_visibility::HeartbeatVisibility;
use crate::sections::channels::reactions::{ReactionActions, ReactionLevel, ReactionNotifications};
use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger, TimeoutMs};
use crate::sections::text::{Executable, TextOrNumber};

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Signal {
    #[serde(flatten)]
    pub account: SignalAccount,
    pub accounts: Option<Map<SignalAccount>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignalAccount {
    pub name: Option<String>,
    pub capabilities: Option<Vec<String>>,
    pub markdown: Option<Markdown>,
    pub enabled: Option<bool>,
    pub config_writes: Option<bool>,
    pub account: Option<String>,
    pub http_url: Option<String>,
    pub http_host: Option<String>,
    pub http_port: Option<PositiveInteger>,
    pub cli_path: Option<Executable>,
    pub auto_start: Option<bool>,
    pub startup_timeout_ms: Option<TimeoutMs>,
    pub receive_mode: Option<SignalReceiveMode>,
    pub ignore_attachments: Option<bool>,
    pub ignore_stories: Option<bool>,
    pub send_read_receipts: Option<bool>,
    #[schemars(extend("default" = "pairing"))]
    pub dm_policy: Option<DmPolicy>,
    pub allow_from: Option<Vec<TextOrNumber>>,
    pub group_allow_from: Option<Vec<TextOrNumber>>,
    #[schemars(extend("default" = "allowlist"))]
    pub group_policy: Option<GroupPolicy>,
    pub history_limit: Option<NonNegativeInteger>,
    pub dm_history_limit: Option<NonNegativeInteger>,
    pub dms: Option<Map<DirectChat>>,
    pub text_chunk_limit: Option<PositiveInteger>,
    pub chunk_mode: Option<ChunkMode>,
    pub block_streaming: Option<bool>,
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    pub media_max_mb: Option<PositiveInteger>,
    pub reaction_notifications: Option<ReactionNotifications>,
    pub reaction_allowlist: Option<Vec<TextOrNumber>>,
    pub actions: Option<ReactionActions>,
    pub reaction_level: Option<ReactionLevel>,
    pub heartbeat: Option<HeartbeatVisibility>,
    pub response_prefix: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum SignalReceiveMode {
    OnStart,
    Manual,
}
