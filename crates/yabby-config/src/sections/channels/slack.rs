//! `channels.slack`.

use schemars::Schema;
use serde_json::Value;
use yabby_config_derive::section;

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
use crate::sections::word::Word;

/// Slack. The keys of an account stand here too, and hold for all of them.
#[section]
#[schemars(transform = with_defaults)]
pub struct Slack {
    #[serde(flatten)]
    pub account: SlackAccount,
    /// More workspaces, by name.
    pub accounts: Option<Map<SlackAccount>>,
}

/// Whether replies go to threads, by kind of chat.
#[section]
pub struct SlackReplyToMode {
    pub direct: Option<Word<ReplyToMode>>,
    pub group: Option<Word<ReplyToMode>>,
    pub channel: Option<Word<ReplyToMode>>,
}

/// How threads relate to their channel.
#[section]
pub struct SlackThread {
    /// What is seen in a thread.
    pub history_scope: Option<SlackHistoryScope>,
    /// Whether a thread begins with what was said before it.
    pub inherit_parent: Option<bool>,
}

/// What agents may do.
#[section]
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

/// The app's slash command.
#[section]
pub struct SlackSlashCommand {
    pub enabled: Option<bool>,
    pub name: Option<String>,
    pub session_prefix: Option<String>,
    pub ephemeral: Option<bool>,
}

/// Direct messages.
#[section]
pub struct SlackDm {
    /// Whether it is used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Who may write directly.
    #[config(default = Pairing, filled)]
    pub policy: Option<DmPolicy>,
    /// Who may write directly: ids and names.
    pub allow_from: Option<Vec<TextOrNumber>>,
    pub group_enabled: Option<bool>,
    pub group_channels: Option<Vec<TextOrNumber>>,
    /// Which pieces of a reply quote the message they answer.
    pub reply_to_mode: Option<Word<ReplyToMode>>,
}

/// One channel.
#[section]
pub struct SlackChannel {
    /// Whether it is used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Whether it is listened to.
    pub allow: Option<bool>,
    /// Whether the assistant must be called.
    #[config(default = true)]
    pub require_mention: Option<bool>,
    /// What it may use there.
    pub tools: Option<ToolPolicy>,
    /// The same by sender.
    pub tools_by_sender: Option<Map<ToolPolicy>>,
    /// Whether messages of other bots count.
    pub allow_bots: Option<bool>,
    /// Who may write there.
    pub users: Option<Vec<TextOrNumber>>,
    /// The only skills used there.
    pub skills: Option<Vec<String>>,
    /// What the agent is told there.
    pub system_prompt: Option<String>,
}

/// One Slack app.
#[section]
pub struct SlackAccount {
    /// Its name for people.
    pub name: Option<String>,
    /// Whether the app connects to Slack, or Slack calls it.
    #[config(default = Socket)]
    pub mode: Option<SlackMode>,
    /// The secret that proves Slack's calls; needed for http.
    pub signing_secret: Option<String>,
    /// Where Slack calls.
    #[config(default = "/slack/events")]
    pub webhook_path: Option<String>,
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
    /// The bot's token. Default: the variable `SLACK_BOT_TOKEN`.
    pub bot_token: Option<String>,
    /// The app's token. Default: the variable `SLACK_APP_TOKEN`.
    pub app_token: Option<String>,
    /// The token of a person, to see what a bot does not.
    pub user_token: Option<String>,
    /// Whether that token only reads.
    #[config(default = true, filled)]
    pub user_token_read_only: Option<bool>,
    /// Whether messages of other bots count.
    pub allow_bots: Option<bool>,
    /// Whether the bot must be called.
    #[config(default = true)]
    pub require_mention: Option<bool>,
    /// Which channels are listened to.
    #[config(default = Allowlist, filled)]
    pub group_policy: Option<GroupPolicy>,
    /// How many messages of others are seen.
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
    #[config(default = 20)]
    pub media_max_mb: Option<PositiveNumber>,
    /// Which reactions of people are told to the agent.
    pub reaction_notifications: Option<ReactionNotifications>,
    /// Whose reactions, where a list decides.
    pub reaction_allowlist: Option<Vec<TextOrNumber>>,
    /// Whether replies go to threads.
    pub reply_to_mode: Option<Word<ReplyToMode>>,
    /// The same by kind of chat.
    pub reply_to_mode_by_chat_type: Option<SlackReplyToMode>,
    /// How threads relate to their channel.
    pub thread: Option<SlackThread>,
    /// What agents may do.
    pub actions: Option<SlackActions>,
    /// The app's slash command.
    pub slash_command: Option<SlackSlashCommand>,
    /// Direct messages.
    pub dm: Option<SlackDm>,
    /// Channels by id; they are a list of channels to listen to as well.
    pub channels: Option<Map<SlackChannel>>,
    /// What people see of heartbeats.
    pub heartbeat: Option<HeartbeatVisibility>,
    /// Text before replies.
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

/// Whether the app connects to Slack, or Slack calls it.
#[section]
#[serde(rename_all = "lowercase")]
pub enum SlackMode {
    Socket,
    Http,
}

#[section]
#[serde(rename_all = "lowercase")]
pub enum SlackHistoryScope {
    Thread,
    Channel,
}
