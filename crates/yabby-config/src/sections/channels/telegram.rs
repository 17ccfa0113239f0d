//! `channels.telegram`.

use yabby_config_derive::section;

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

/// Telegram. The keys of an account stand here too, and hold for all of them.
#[section]
pub struct Telegram {
    #[serde(flatten)]
    pub account: TelegramAccount,
    /// More bots, by name.
    pub accounts: Option<Map<TelegramAccount>>,
}

/// Buttons below messages.
#[section]
pub struct TelegramButtons {
    pub inline_buttons: Option<InlineButtons>,
}

/// An entry in the bot's menu.
#[section]
pub struct TelegramCommand {
    /// Its name: lower-case letters, digits and underscores, at most 32.
    pub command: String,
    pub description: String,
}

/// One group; `*` is every group.
#[section]
pub struct TelegramGroup {
    /// Whether the bot must be called.
    #[config(default = true)]
    pub require_mention: Option<bool>,
    /// What it may use there.
    pub tools: Option<ToolPolicy>,
    /// The same by sender.
    pub tools_by_sender: Option<Map<ToolPolicy>>,
    /// The only skills used there.
    pub skills: Option<Vec<String>>,
    /// Whether it is used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Who may write directly.
    pub allow_from: Option<Vec<TextOrNumber>>,
    /// What the agent is told there.
    pub system_prompt: Option<String>,
    /// Topics of a forum by id.
    pub topics: Option<Map<TelegramTopic>>,
}

/// One topic of a forum.
#[section]
pub struct TelegramTopic {
    /// Whether the assistant must be called.
    #[config(default = true)]
    pub require_mention: Option<bool>,
    /// The only skills used there.
    pub skills: Option<Vec<String>>,
    /// Whether it is used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Who may write directly.
    pub allow_from: Option<Vec<TextOrNumber>>,
    /// What the agent is told there.
    pub system_prompt: Option<String>,
}

/// How Telegram is reached.
#[section]
pub struct TelegramNetwork {
    pub auto_select_family: Option<bool>,
}

/// What agents may do.
#[section]
pub struct TelegramActions {
    pub reactions: Option<bool>,
    pub send_message: Option<bool>,
    pub delete_message: Option<bool>,
    pub sticker: Option<bool>,
}

/// One Telegram bot.
#[section]
pub struct TelegramAccount {
    /// Its name for people.
    pub name: Option<String>,
    /// What the bot may use.
    pub capabilities: Option<TelegramCapabilities>,
    /// How Markdown is turned into what the platform can show.
    pub markdown: Option<Markdown>,
    /// Whether it is used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Commands in the platform's menu.
    pub commands: Option<ChannelCommands>,
    /// More entries in the bot's menu.
    pub custom_commands: Option<Vec<TelegramCommand>>,
    /// Whether the program may change the configuration from here.
    #[config(default = true)]
    pub config_writes: Option<bool>,
    /// Who may write directly.
    #[config(default = Pairing, filled)]
    pub dm_policy: Option<DmPolicy>,
    /// The bot's token. Default: the variable `TELEGRAM_BOT_TOKEN`.
    pub bot_token: Option<String>,
    /// A file that holds it.
    pub token_file: Option<String>,
    /// Which pieces of a reply quote.
    #[config(default = First)]
    pub reply_to_mode: Option<ReplyToMode>,
    /// Groups by id; `*` is every group. They are a list of groups to listen to as well.
    pub groups: Option<Map<TelegramGroup>>,
    /// Who may write directly: ids and names.
    pub allow_from: Option<Vec<TextOrNumber>>,
    /// Who may write in groups.
    pub group_allow_from: Option<Vec<TextOrNumber>>,
    /// Which groups are listened to.
    #[config(default = Allowlist, filled)]
    pub group_policy: Option<GroupPolicy>,
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
    /// How long pieces of drafts are.
    pub draft_chunk: Option<BlockChunks>,
    /// When small pieces are joined.
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    /// Whether drafts show while a reply is written.
    #[config(default = Partial, filled)]
    pub stream_mode: Option<TelegramStreamMode>,
    /// How large files may be.
    #[config(default = 5)]
    pub media_max_mb: Option<PositiveNumber>,
    /// How long a request may take.
    pub timeout_seconds: Option<PositiveInteger>,
    /// How often requests are repeated.
    pub retry: Option<Retry>,
    /// How Telegram is reached.
    pub network: Option<TelegramNetwork>,
    /// The proxy to use.
    pub proxy: Option<String>,
    /// Where Telegram calls; else the bot asks.
    pub webhook_url: Option<String>,
    /// What it must bring along.
    pub webhook_secret: Option<String>,
    /// The path on this side.
    pub webhook_path: Option<String>,
    /// What agents may do.
    pub actions: Option<TelegramActions>,
    /// Which reactions of people are told to the agent.
    #[config(default = Own)]
    pub reaction_notifications: Option<OwnReactionNotifications>,
    /// How much agents react.
    pub reaction_level: Option<ReactionLevel>,
    /// What people see of heartbeats.
    pub heartbeat: Option<HeartbeatVisibility>,
    /// Whether links show what is behind them.
    pub link_preview: Option<bool>,
    /// Text before replies.
    pub response_prefix: Option<String>,
}

/// What the bot may use: a list of names, or switches.
#[section]
#[serde(untagged)]
pub enum TelegramCapabilities {
    Names(Vec<String>),
    Buttons(TelegramButtons),
}

/// Where buttons below messages are used.
#[section]
#[serde(rename_all = "lowercase")]
pub enum InlineButtons {
    Off,
    Dm,
    Group,
    All,
    Allowlist,
}

/// Whether drafts show while a reply is written.
#[section]
#[serde(rename_all = "lowercase")]
pub enum TelegramStreamMode {
    Off,
    Partial,
    Block,
}
