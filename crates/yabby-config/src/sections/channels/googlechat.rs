//! `channels.googlechat`.

use serde_json::Value;
use yabby_config_derive::section;

use crate::sections::agents::streaming::BlockCoalescing;
use crate::sections::channels::access::{DirectChat, DmPolicy, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, ReplyToMode};
use crate::sections::channels::reactions::ReactionActions;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger, PositiveNumber};
use crate::sections::text::TextOrNumber;

/// Google Chat. The keys of an account stand here too, and hold for all of them.
#[section]
pub struct GoogleChat {
    #[serde(flatten)]
    pub account: GoogleChatAccount,
    /// More accounts, by name.
    pub accounts: Option<Map<GoogleChatAccount>>,
    pub default_account: Option<String>,
}

/// One space.
#[section]
pub struct GoogleChatGroup {
    /// Whether it is used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Whether it is listened to.
    pub allow: Option<bool>,
    /// Whether the assistant must be called.
    #[config(default = true)]
    pub require_mention: Option<bool>,
    /// Who may write there.
    pub users: Option<Vec<TextOrNumber>>,
    /// What the agent is told there.
    pub system_prompt: Option<String>,
}

/// Direct messages.
#[section]
pub struct GoogleChatDm {
    /// Whether it is used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Who may write directly.
    #[config(default = Pairing, filled)]
    pub policy: Option<DmPolicy>,
    /// Who may write directly.
    pub allow_from: Option<Vec<TextOrNumber>>,
}

/// One Google Chat app.
#[section]
pub struct GoogleChatAccount {
    /// Its name for people.
    pub name: Option<String>,
    /// What it may use.
    pub capabilities: Option<Vec<String>>,
    /// Whether it is used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Whether the program may change the configuration from here.
    #[config(default = true)]
    pub config_writes: Option<bool>,
    /// Whether messages of other bots count.
    pub allow_bots: Option<bool>,
    /// Whether the assistant must be called.
    #[config(default = true)]
    pub require_mention: Option<bool>,
    /// Which groups are listened to.
    #[config(default = Allowlist, filled)]
    pub group_policy: Option<GroupPolicy>,
    /// Who may write in groups.
    pub group_allow_from: Option<Vec<TextOrNumber>>,
    /// Groups by id; `*` is every group. They are a list of groups to listen to as well.
    pub groups: Option<Map<GoogleChatGroup>>,
    pub service_account: Option<ServiceAccount>,
    pub service_account_file: Option<String>,
    pub audience_type: Option<GoogleChatAudience>,
    pub audience: Option<String>,
    /// The path on this side.
    pub webhook_path: Option<String>,
    pub webhook_url: Option<String>,
    pub bot_user: Option<String>,
    /// How many messages of others are seen in groups.
    #[config(default = 50)]
    pub history_limit: Option<NonNegativeInteger>,
    /// How many messages are seen in direct chats.
    pub dm_history_limit: Option<NonNegativeInteger>,
    /// Direct chats by id.
    pub dms: Option<Map<DirectChat>>,
    /// How long one message may be.
    #[config(default = 4000)]
    pub text_chunk_limit: Option<PositiveInteger>,
    /// Where longer ones are cut.
    #[config(default = Length)]
    pub chunk_mode: Option<ChunkMode>,
    /// Whether replies come in pieces.
    pub block_streaming: Option<bool>,
    /// When small pieces are joined.
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    /// How large files may be.
    pub media_max_mb: Option<PositiveNumber>,
    /// Which pieces of a reply quote the message they answer.
    pub reply_to_mode: Option<ReplyToMode>,
    /// What agents may do.
    pub actions: Option<ReactionActions>,
    /// Direct messages.
    pub dm: Option<GoogleChatDm>,
    pub typing_indicator: Option<GoogleChatTyping>,
    /// Text before replies.
    pub response_prefix: Option<String>,
}

/// The service account's key: the path of its file, or its content.
#[section]
#[serde(untagged)]
pub enum ServiceAccount {
    Path(String),
    Content(Map<Value>),
}

#[section]
#[serde(rename_all = "kebab-case")]
pub enum GoogleChatAudience {
    AppUrl,
    ProjectNumber,
}

#[section]
#[serde(rename_all = "lowercase")]
pub enum GoogleChatTyping {
    None,
    Message,
    Reaction,
}
