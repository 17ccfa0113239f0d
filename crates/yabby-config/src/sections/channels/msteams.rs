//! `channels.msteams`.

use yabby_config_derive::section;

use crate::sections::agents::streaming::BlockCoalescing;
use crate::sections::channels::access::{DirectChat, DmPolicy, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, Markdown};
use crate::sections::channels::heartbeat_visibility::HeartbeatVisibility;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger, PositiveNumber};
use crate::sections::tools::policy::ToolPolicy;

/// Microsoft Teams.
#[section]
pub struct MsTeams {
    /// Whether it is used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// What it may use.
    pub capabilities: Option<Vec<String>>,
    /// How Markdown is turned into what the platform can show.
    pub markdown: Option<Markdown>,
    /// Whether the program may change the configuration from here.
    #[config(default = true)]
    pub config_writes: Option<bool>,
    pub app_id: Option<String>,
    pub app_password: Option<String>,
    pub tenant_id: Option<String>,
    pub webhook: Option<MsTeamsWebhook>,
    /// Who may write directly.
    #[config(default = Pairing, filled)]
    pub dm_policy: Option<DmPolicy>,
    /// Who may write directly.
    pub allow_from: Option<Vec<String>>,
    /// Who may write in groups.
    pub group_allow_from: Option<Vec<String>>,
    /// Which channels are listened to.
    #[config(default = Allowlist, filled)]
    pub group_policy: Option<GroupPolicy>,
    /// How long one message may be.
    #[config(default = 4000)]
    pub text_chunk_limit: Option<PositiveInteger>,
    /// Where longer ones are cut.
    #[config(default = Length)]
    pub chunk_mode: Option<ChunkMode>,
    /// When small pieces are joined.
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    pub media_allow_hosts: Option<Vec<String>>,
    pub media_auth_allow_hosts: Option<Vec<String>>,
    /// Whether the assistant must be called.
    #[config(default = true)]
    pub require_mention: Option<bool>,
    /// How many messages of others are seen in groups.
    #[config(default = 50)]
    pub history_limit: Option<NonNegativeInteger>,
    /// How many messages are seen in direct chats.
    pub dm_history_limit: Option<NonNegativeInteger>,
    /// Direct chats by id.
    pub dms: Option<Map<DirectChat>>,
    pub reply_style: Option<MsTeamsReplyStyle>,
    pub teams: Option<Map<MsTeamsTeam>>,
    /// How large files may be.
    pub media_max_mb: Option<PositiveNumber>,
    pub share_point_site_id: Option<String>,
    /// What people see of heartbeats.
    pub heartbeat: Option<HeartbeatVisibility>,
    /// Text before replies.
    pub response_prefix: Option<String>,
}

/// Where Teams calls.
#[section]
pub struct MsTeamsWebhook {
    pub port: Option<PositiveInteger>,
    pub path: Option<String>,
}

/// One team.
#[section]
pub struct MsTeamsTeam {
    /// Whether the assistant must be called.
    #[config(default = true)]
    pub require_mention: Option<bool>,
    /// What it may use there.
    pub tools: Option<ToolPolicy>,
    /// The same by sender.
    pub tools_by_sender: Option<Map<ToolPolicy>>,
    pub reply_style: Option<MsTeamsReplyStyle>,
    pub channels: Option<Map<MsTeamsChannel>>,
}

/// One channel of a team.
#[section]
pub struct MsTeamsChannel {
    /// Whether the assistant must be called.
    #[config(default = true)]
    pub require_mention: Option<bool>,
    /// What it may use there.
    pub tools: Option<ToolPolicy>,
    /// The same by sender.
    pub tools_by_sender: Option<Map<ToolPolicy>>,
    pub reply_style: Option<MsTeamsReplyStyle>,
}

/// Whether replies go to threads.
#[section]
#[serde(rename_all = "kebab-case")]
pub enum MsTeamsReplyStyle {
    Thread,
    TopLevel,
}
