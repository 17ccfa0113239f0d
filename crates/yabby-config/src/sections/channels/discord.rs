//! `channels.discord`.

use yabby_config_derive::section;

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

/// Discord. The keys of an account stand here too, and hold for all of them.
#[section]
pub struct Discord {
    #[serde(flatten)]
    pub account: DiscordAccount,
    /// More bots, by name.
    pub accounts: Option<Map<DiscordAccount>>,
}

/// What agents may do.
#[section]
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

/// Direct messages.
#[section]
pub struct DiscordDm {
    /// Whether it is used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Who may write directly.
    #[config(default = Pairing, filled)]
    pub policy: Option<DmPolicy>,
    /// Who may write directly: ids and names.
    pub allow_from: Option<Vec<TextOrNumber>>,
    /// Whether group chats count.
    pub group_enabled: Option<bool>,
    pub group_channels: Option<Vec<TextOrNumber>>,
}

/// One server.
#[section]
pub struct DiscordGuild {
    /// Its name in session keys.
    pub slug: Option<String>,
    /// Whether the bot must be called.
    #[config(default = true)]
    pub require_mention: Option<bool>,
    /// What it may use there.
    pub tools: Option<ToolPolicy>,
    /// The same by sender.
    pub tools_by_sender: Option<Map<ToolPolicy>>,
    /// Which reactions of people are told to the agent.
    pub reaction_notifications: Option<ReactionNotifications>,
    /// Who may write.
    pub users: Option<Vec<TextOrNumber>>,
    /// Channels by id; they are a list of channels to listen to as well.
    pub channels: Option<Map<DiscordGuildChannel>>,
}

/// One channel of a server.
#[section]
pub struct DiscordGuildChannel {
    /// Whether it is listened to.
    pub allow: Option<bool>,
    /// Whether the assistant must be called.
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
    /// Who may write there.
    pub users: Option<Vec<TextOrNumber>>,
    /// What the agent is told there.
    pub system_prompt: Option<String>,
    pub include_thread_starter: Option<bool>,
    /// Whether every message starts a thread.
    pub auto_thread: Option<bool>,
}

/// Questions for approval in direct messages.
#[section]
pub struct DiscordExecApprovals {
    pub enabled: Option<bool>,
    pub approvers: Option<Vec<TextOrNumber>>,
    pub agent_filter: Option<Vec<String>>,
    pub session_filter: Option<Vec<String>>,
}

/// What the bot asks Discord to be told of.
#[section]
pub struct DiscordIntents {
    pub presence: Option<bool>,
    pub guild_members: Option<bool>,
}

/// Messages sent through PluralKit.
#[section]
pub struct PluralKit {
    pub enabled: Option<bool>,
    pub token: Option<String>,
}

/// One Discord bot.
#[section]
pub struct DiscordAccount {
    /// Its name for people.
    pub name: Option<String>,
    /// What it may use.
    pub capabilities: Option<Vec<String>>,
    /// How Markdown is turned into what the platform can show.
    pub markdown: Option<Markdown>,
    /// Whether it is used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Commands in the platform's menu.
    pub commands: Option<ChannelCommands>,
    /// Whether the program may change the configuration from here.
    #[config(default = true)]
    pub config_writes: Option<bool>,
    /// The bot's token. Default: the variable `DISCORD_BOT_TOKEN`.
    pub token: Option<String>,
    /// Whether messages of other bots count.
    pub allow_bots: Option<bool>,
    /// Which servers and channels are listened to.
    #[config(default = Allowlist, filled)]
    pub group_policy: Option<GroupPolicy>,
    /// How many messages of others are seen.
    #[config(default = 20)]
    pub history_limit: Option<NonNegativeInteger>,
    /// How many messages are seen in direct chats.
    pub dm_history_limit: Option<NonNegativeInteger>,
    /// Direct chats by id.
    pub dms: Option<Map<DirectChat>>,
    /// How long one message may be.
    #[config(default = 2000)]
    pub text_chunk_limit: Option<PositiveInteger>,
    /// Where longer ones are cut.
    #[config(default = Length)]
    pub chunk_mode: Option<ChunkMode>,
    /// Whether replies come in pieces.
    pub block_streaming: Option<bool>,
    /// When small pieces are joined.
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    /// How many lines it may have.
    #[config(default = 17)]
    pub max_lines_per_message: Option<PositiveInteger>,
    /// How large files may be.
    #[config(default = 8)]
    pub media_max_mb: Option<PositiveNumber>,
    /// How often requests are repeated.
    pub retry: Option<Retry>,
    /// What agents may do.
    pub actions: Option<DiscordActions>,
    /// Which pieces of a reply quote.
    #[config(default = Off)]
    pub reply_to_mode: Option<ReplyToMode>,
    /// Direct messages.
    pub dm: Option<DiscordDm>,
    /// Servers by id.
    pub guilds: Option<Map<DiscordGuild>>,
    /// What people see of heartbeats.
    pub heartbeat: Option<HeartbeatVisibility>,
    /// Questions for approval in direct messages.
    pub exec_approvals: Option<DiscordExecApprovals>,
    /// What the bot asks Discord to be told of.
    pub intents: Option<DiscordIntents>,
    /// Messages sent through PluralKit.
    pub pluralkit: Option<PluralKit>,
    /// Text before replies.
    pub response_prefix: Option<String>,
}
