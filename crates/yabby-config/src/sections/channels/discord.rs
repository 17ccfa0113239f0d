//! MISSING channels/discord

use schemars::JsonSchema;

use crate::sections::agents::streaming::BlockCoalescing;
use crate::sections::channels::access::{DirectChat, DmPolicy, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, Markdown, ReplyToMode};
use crate::sections::channels::heartbeat_visibility::HeartbeatVisibility;
use crate::sections::channels::reactions::ReactionNotifications;
use crate::sections::channels::retry::Retry;
use crate::sections::commands::ChannelCommands;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger, PositiveNumber};
use crate::sections::text::TextOrNumber;
use crate::sections::tools::policy::ToolPolicy;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Discord {
    #[serde(flatten)]
    pub account: DiscordAccount,
    pub accounts: Option<Map<DiscordAccount>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiscordActions {
    pub reactions: Option<bool>,
    pub stickers: Option<bool>,
    pub emoji_uploads: Option<bool>,
    pub sticker_uploads: Option<bool>,
    pub polls: Option<bool>,
    pub permissions: Option<bool>,
    pub messages: Option<bool>,
    pub threads: Option<bool>,
    pub pins: Option<bool>,
    pub search: Option<bool>,
    pub member_info: Option<bool>,
    pub role_info: Option<bool>,
    pub roles: Option<bool>,
    pub channel_info: Option<bool>,
    pub voice_status: Option<bool>,
    pub events: Option<bool>,
    pub moderation: Option<bool>,
    pub channels: Option<bool>,
    pub presence: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiscordDm {
    pub enabled: Option<bool>,
    #[schemars(extend("default" = "pairing"))]
    pub policy: Option<DmPolicy>,
    pub allow_from: Option<Vec<TextOrNumber>>,
    pub group_enabled: Option<bool>,
    pub group_channels: Option<Vec<TextOrNumber>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiscordGuild {
    pub slug: Option<String>,
    pub require_mention: Option<bool>,
    pub tools: Option<ToolPolicy>,
    pub tools_by_sender: Option<Map<ToolPolicy>>,
    pub reaction_notifications: Option<ReactionNotifications>,
    pub users: Option<Vec<TextOrNumber>>,
    pub channels: Option<Map<DiscordGuildChannel>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiscordGuildChannel {
    pub allow: Option<bool>,
    pub require_mention: Option<bool>,
    pub tools: Option<ToolPolicy>,
    pub tools_by_sender: Option<Map<ToolPolicy>>,
    pub skills: Option<Vec<String>>,
    pub enabled: Option<bool>,
    pub users: Option<Vec<TextOrNumber>>,
    pub system_prompt: Option<String>,
    pub include_thread_starter: Option<bool>,
    pub auto_thread: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiscordExecApprovals {
    pub enabled: Option<bool>,
    pub approvers: Option<Vec<TextOrNumber>>,
    pub agent_filter: Option<Vec<String>>,
    pub session_filter: Option<Vec<String>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiscordIntents {
    pub presence: Option<bool>,
    pub guild_members: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluralKit {
    pub enabled: Option<bool>,
    pub token: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiscordAccount {
    pub name: Option<String>,
    pub capabilities: Option<Vec<String>>,
    pub markdown: Option<Markdown>,
    pub enabled: Option<bool>,
    pub commands: Option<ChannelCommands>,
    pub config_writes: Option<bool>,
    pub token: Option<String>,
    pub allow_bots: Option<bool>,
    #[schemars(extend("default" = "allowlist"))]
    pub group_policy: Option<GroupPolicy>,
    pub history_limit: Option<NonNegativeInteger>,
    pub dm_history_limit: Option<NonNegativeInteger>,
    pub dms: Option<Map<DirectChat>>,
    pub text_chunk_limit: Option<PositiveInteger>,
    pub chunk_mode: Option<ChunkMode>,
    pub block_streaming: Option<bool>,
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    pub max_lines_per_message: Option<PositiveInteger>,
    pub media_max_mb: Option<PositiveNumber>,
    pub retry: Option<Retry>,
    pub actions: Option<DiscordActions>,
    pub reply_to_mode: Option<ReplyToMode>,
    pub dm: Option<DiscordDm>,
    pub guilds: Option<Map<DiscordGuild>>,
    pub heartbeat: Option<HeartbeatVisibility>,
    pub exec_approvals: Option<DiscordExecApprovals>,
    pub intents: Option<DiscordIntents>,
    pub pluralkit: Option<PluralKit>,
    pub response_prefix: Option<String>,
}
