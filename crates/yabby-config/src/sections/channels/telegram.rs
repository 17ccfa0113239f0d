//! MISSING channels/telegram

use schemars::JsonSchema;

use crate::sections::agents::streaming::{BlockChunks, BlockCoalescing};
use crate::sections::channels::access::{DirectChat, DmPolicy, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, Markdown, ReplyToMode};
use crate::sections::channels::heartbeat_visibility::HeartbeatVisibility;
use crate::sections::channels::reactions::{OwnReactionNotifications, ReactionLevel};
use crate::sections::channels::retry::Retry;
use crate::sections::commands::ChannelCommands;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger, PositiveNumber};
use crate::sections::text::TextOrNumber;
use crate::sections::tools::policy::ToolPolicy;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Telegram {
    #[serde(flatten)]
    pub account: TelegramAccount,
    pub accounts: Option<Map<TelegramAccount>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TelegramButtons {
    pub inline_buttons: Option<InlineButtons>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TelegramCommand {
    pub command: String,
    pub description: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TelegramGroup {
    pub require_mention: Option<bool>,
    pub tools: Option<ToolPolicy>,
    pub tools_by_sender: Option<Map<ToolPolicy>>,
    pub skills: Option<Vec<String>>,
    pub enabled: Option<bool>,
    pub allow_from: Option<Vec<TextOrNumber>>,
    pub system_prompt: Option<String>,
    pub topics: Option<Map<TelegramTopic>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TelegramTopic {
    pub require_mention: Option<bool>,
    pub skills: Option<Vec<String>>,
    pub enabled: Option<bool>,
    pub allow_from: Option<Vec<TextOrNumber>>,
    pub system_prompt: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TelegramNetwork {
    pub auto_select_family: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TelegramActions {
    pub reactions: Option<bool>,
    pub send_message: Option<bool>,
    pub delete_message: Option<bool>,
    pub sticker: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TelegramAccount {
    pub name: Option<String>,
    pub capabilities: Option<TelegramCapabilities>,
    pub markdown: Option<Markdown>,
    pub enabled: Option<bool>,
    pub commands: Option<ChannelCommands>,
    pub custom_commands: Option<Vec<TelegramCommand>>,
    pub config_writes: Option<bool>,
    #[schemars(extend("default" = "pairing"))]
    pub dm_policy: Option<DmPolicy>,
    pub bot_token: Option<String>,
    pub token_file: Option<String>,
    pub reply_to_mode: Option<ReplyToMode>,
    pub groups: Option<Map<TelegramGroup>>,
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
    pub draft_chunk: Option<BlockChunks>,
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    #[schemars(extend("default" = "partial"))]
    pub stream_mode: Option<TelegramStreamMode>,
    pub media_max_mb: Option<PositiveNumber>,
    pub timeout_seconds: Option<PositiveInteger>,
    pub retry: Option<Retry>,
    pub network: Option<TelegramNetwork>,
    pub proxy: Option<String>,
    pub webhook_url: Option<String>,
    pub webhook_secret: Option<String>,
    pub webhook_path: Option<String>,
    pub actions: Option<TelegramActions>,
    pub reaction_notifications: Option<OwnReactionNotifications>,
    pub reaction_level: Option<ReactionLevel>,
    pub heartbeat: Option<HeartbeatVisibility>,
    pub link_preview: Option<bool>,
    pub response_prefix: Option<String>,
}

/// What the bot may use: a list of names, or switches.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum TelegramCapabilities {
    Names(Vec<String>),
    Buttons(TelegramButtons),
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InlineButtons {
    Off,
    Dm,
    Group,
    All,
    Allowlist,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TelegramStreamMode {
    Off,
    Partial,
    Block,
}
