//! MISSING channels/msteams

use schemars::JsonSchema;

use crate::sections::agents::streaming::BlockCoalescing;
use crate::sections::channels::access::{DirectChat, DmPolicy, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, Markdown};
use crate::sections::channels::heartbeat_visibility::HeartbeatVisibility;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger, PositiveNumber};
use crate::sections::tools::policy::ToolPolicy;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MsTeams {
    pub enabled: Option<bool>,
    pub capabilities: Option<Vec<String>>,
    pub markdown: Option<Markdown>,
    pub config_writes: Option<bool>,
    pub app_id: Option<String>,
    pub app_password: Option<String>,
    pub tenant_id: Option<String>,
    pub webhook: Option<MsTeamsWebhook>,
    #[schemars(extend("default" = "pairing"))]
    pub dm_policy: Option<DmPolicy>,
    pub allow_from: Option<Vec<String>>,
    pub group_allow_from: Option<Vec<String>>,
    #[schemars(extend("default" = "allowlist"))]
    pub group_policy: Option<GroupPolicy>,
    pub text_chunk_limit: Option<PositiveInteger>,
    pub chunk_mode: Option<ChunkMode>,
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    pub media_allow_hosts: Option<Vec<String>>,
    pub media_auth_allow_hosts: Option<Vec<String>>,
    pub require_mention: Option<bool>,
    pub history_limit: Option<NonNegativeInteger>,
    pub dm_history_limit: Option<NonNegativeInteger>,
    pub dms: Option<Map<DirectChat>>,
    pub reply_style: Option<MsTeamsReplyStyle>,
    pub teams: Option<Map<MsTeamsTeam>>,
    pub media_max_mb: Option<PositiveNumber>,
    pub share_point_site_id: Option<String>,
    pub heartbeat: Option<HeartbeatVisibility>,
    pub response_prefix: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MsTeamsWebhook {
    pub port: Option<PositiveInteger>,
    pub path: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MsTeamsTeam {
    pub require_mention: Option<bool>,
    pub tools: Option<ToolPolicy>,
    pub tools_by_sender: Option<Map<ToolPolicy>>,
    pub reply_style: Option<MsTeamsReplyStyle>,
    pub channels: Option<Map<MsTeamsChannel>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MsTeamsChannel {
    pub require_mention: Option<bool>,
    pub tools: Option<ToolPolicy>,
    pub tools_by_sender: Option<Map<ToolPolicy>>,
    pub reply_style: Option<MsTeamsReplyStyle>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MsTeamsReplyStyle {
    Thread,
    TopLevel,
}
