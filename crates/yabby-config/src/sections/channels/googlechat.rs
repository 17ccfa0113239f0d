//! MISSING channels/googlechat

use schemars::JsonSchema;
use serde_json::Value;

use crate::sections::agents::streaming::BlockCoalescing;
use crate::sections::channels::access::{DirectChat, DmPolicy, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, ReplyToMode};
use crate::sections::channels::reactions::ReactionActions;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger, PositiveNumber};
use crate::sections::text::TextOrNumber;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GoogleChat {
    #[serde(flatten)]
    pub account: GoogleChatAccount,
    pub accounts: Option<Map<GoogleChatAccount>>,
    pub default_account: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GoogleChatGroup {
    pub enabled: Option<bool>,
    pub allow: Option<bool>,
    pub require_mention: Option<bool>,
    pub users: Option<Vec<TextOrNumber>>,
    pub system_prompt: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GoogleChatDm {
    pub enabled: Option<bool>,
    #[schemars(extend("default" = "pairing"))]
    pub policy: Option<DmPolicy>,
    pub allow_from: Option<Vec<TextOrNumber>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GoogleChatAccount {
    pub name: Option<String>,
    pub capabilities: Option<Vec<String>>,
    pub enabled: Option<bool>,
    pub config_writes: Option<bool>,
    pub allow_bots: Option<bool>,
    pub require_mention: Option<bool>,
    #[schemars(extend("default" = "allowlist"))]
    pub group_policy: Option<GroupPolicy>,
    pub group_allow_from: Option<Vec<TextOrNumber>>,
    pub groups: Option<Map<GoogleChatGroup>>,
    pub service_account: Option<ServiceAccount>,
    pub service_account_file: Option<String>,
    pub audience_type: Option<GoogleChatAudience>,
    pub audience: Option<String>,
    pub webhook_path: Option<String>,
    pub webhook_url: Option<String>,
    pub bot_user: Option<String>,
    pub history_limit: Option<NonNegativeInteger>,
    pub dm_history_limit: Option<NonNegativeInteger>,
    pub dms: Option<Map<DirectChat>>,
    pub text_chunk_limit: Option<PositiveInteger>,
    pub chunk_mode: Option<ChunkMode>,
    pub block_streaming: Option<bool>,
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    pub media_max_mb: Option<PositiveNumber>,
    pub reply_to_mode: Option<ReplyToMode>,
    pub actions: Option<ReactionActions>,
    pub dm: Option<GoogleChatDm>,
    pub typing_indicator: Option<GoogleChatTyping>,
    pub response_prefix: Option<String>,
}

/// The service account's key: the path of its file, or its content.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum ServiceAccount {
    Path(String),
    Content(Map<Value>),
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GoogleChatAudience {
    AppUrl,
    ProjectNumber,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GoogleChatTyping {
    None,
    Message,
    Reaction,
}
