//! MISSING channels/slack

use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::sections::agents::streaming::BlockCoalescing;
use crate::sections::channels::access::{DirectChat, DmPolicy, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, Markdown, ReplyToMode};
use crate::sections::channels::heartbeat_visibility::HeartbeatVisibility;
use crate::sections::channels::reactions::ReactionNotifications;
use crate::sections::commands::ChannelCommands;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger, PositiveNumber};
use crate::sections::text::TextOrNumber;
use crate::sections::tools::policy::ToolPolicy;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = with_defaults)]
pub struct Slack {
    #[serde(flatten)]
    pub account: SlackAccount,
    pub accounts: Option<Map<SlackAccount>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlackReplyToMode {
    pub direct: Option<ReplyToMode>,
    pub group: Option<ReplyToMode>,
    pub channel: Option<ReplyToMode>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlackThread {
    pub history_scope: Option<SlackHistoryScope>,
    pub inherit_parent: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlackActions {
    pub reactions: Option<bool>,
    pub messages: Option<bool>,
    pub pins: Option<bool>,
    pub search: Option<bool>,
    pub permissions: Option<bool>,
    pub member_info: Option<bool>,
    pub channel_info: Option<bool>,
    pub emoji_list: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlackSlashCommand {
    pub enabled: Option<bool>,
    pub name: Option<String>,
    pub session_prefix: Option<String>,
    pub ephemeral: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlackDm {
    pub enabled: Option<bool>,
    #[schemars(extend("default" = "pairing"))]
    pub policy: Option<DmPolicy>,
    pub allow_from: Option<Vec<TextOrNumber>>,
    pub group_enabled: Option<bool>,
    pub group_channels: Option<Vec<TextOrNumber>>,
    pub reply_to_mode: Option<ReplyToMode>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlackChannel {
    pub enabled: Option<bool>,
    pub allow: Option<bool>,
    pub require_mention: Option<bool>,
    pub tools: Option<ToolPolicy>,
    pub tools_by_sender: Option<Map<ToolPolicy>>,
    pub allow_bots: Option<bool>,
    pub users: Option<Vec<TextOrNumber>>,
    pub skills: Option<Vec<String>>,
    pub system_prompt: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlackAccount {
    pub name: Option<String>,
    pub mode: Option<SlackMode>,
    pub signing_secret: Option<String>,
    pub webhook_path: Option<String>,
    pub capabilities: Option<Vec<String>>,
    pub markdown: Option<Markdown>,
    pub enabled: Option<bool>,
    pub commands: Option<ChannelCommands>,
    pub config_writes: Option<bool>,
    pub bot_token: Option<String>,
    pub app_token: Option<String>,
    pub user_token: Option<String>,
    #[schemars(extend("default" = true))]
    pub user_token_read_only: Option<bool>,
    pub allow_bots: Option<bool>,
    pub require_mention: Option<bool>,
    #[schemars(extend("default" = "allowlist"))]
    pub group_policy: Option<GroupPolicy>,
    pub history_limit: Option<NonNegativeInteger>,
    pub dm_history_limit: Option<NonNegativeInteger>,
    pub dms: Option<Map<DirectChat>>,
    pub text_chunk_limit: Option<PositiveInteger>,
    pub chunk_mode: Option<ChunkMode>,
    pub block_streaming: Option<bool>,
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    pub media_max_mb: Option<PositiveNumber>,
    pub reaction_notifications: Option<ReactionNotifications>,
    pub reaction_allowlist: Option<Vec<TextOrNumber>>,
    pub reply_to_mode: Option<ReplyToMode>,
    pub reply_to_mode_by_chat_type: Option<SlackReplyToMode>,
    pub thread: Option<SlackThread>,
    pub actions: Option<SlackActions>,
    pub slash_command: Option<SlackSlashCommand>,
    pub dm: Option<SlackDm>,
    pub channels: Option<Map<SlackChannel>>,
    pub heartbeat: Option<HeartbeatVisibility>,
    pub response_prefix: Option<String>,
}

/// The section itself says how it connects; an account takes that over.
fn with_defaults(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (key, default) in [("mode", "socket"), ("webhookPath", "/slack/events")] {
        if let Some(Value::Object(property)) = properties.get_mut(key) {
            property.insert("default".to_owned(), default.into());
        }
    }
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SlackMode {
    Socket,
    Http,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SlackHistoryScope {
    Thread,
    Channel,
}
