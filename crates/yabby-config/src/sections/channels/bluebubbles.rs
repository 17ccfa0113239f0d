//! MISSING channels/bluebubbles

use schemars::JsonSchema;

use crate::sections::agents::streaming::BlockCoalescing;
use crate::sections::channels::access::{DirectChat, DmPolicy, Group, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, Markdown};
use crate::sections::channels::heartbeat_visibility::HeartbeatVisibility;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};
use crate::sections::text::TextOrNumber;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlueBubbles {
    #[serde(flatten)]
    pub account: BlueBubblesAccount,
    pub accounts: Option<Map<BlueBubblesAccount>>,
    pub actions: Option<BlueBubblesActions>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlueBubblesAccount {
    pub name: Option<String>,
    pub capabilities: Option<Vec<String>>,
    pub markdown: Option<Markdown>,
    pub config_writes: Option<bool>,
    pub enabled: Option<bool>,
    pub server_url: Option<String>,
    pub password: Option<String>,
    pub webhook_path: Option<String>,
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
    pub media_max_mb: Option<PositiveInteger>,
    pub send_read_receipts: Option<bool>,
    pub block_streaming: Option<bool>,
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    pub groups: Option<Map<Group>>,
    pub heartbeat: Option<HeartbeatVisibility>,
    pub response_prefix: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlueBubblesActions {
    pub reactions: Option<bool>,
    pub edit: Option<bool>,
    pub unsend: Option<bool>,
    pub reply: Option<bool>,
    pub send_with_effect: Option<bool>,
    pub rename_group: Option<bool>,
    pub set_group_icon: Option<bool>,
    pub add_participant: Option<bool>,
    pub remove_participant: Option<bool>,
    pub leave_group: Option<bool>,
    pub send_attachment: Option<bool>,
}
