//! `channels.signal`.

use yabby_config_derive::section;

use crate::sections::agents::streaming::BlockCoalescing;
use crate::sections::channels::access::{DirectChat, DmPolicy, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, Markdown};
use crate::sections::channels::heartbeat_visibility::HeartbeatVisibility;
use crate::sections::channels::reactions::{ReactionActions, ReactionLevel, ReactionNotifications};
use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger, TimeoutMs};
use crate::sections::text::{Executable, TextOrNumber};

/// Signal. The keys of an account stand here too, and hold for all of them.
#[section]
pub struct Signal {
    #[serde(flatten)]
    pub account: SignalAccount,
    /// More accounts, by name.
    pub accounts: Option<Map<SignalAccount>>,
}

/// One Signal account.
#[section]
pub struct SignalAccount {
    /// Its name for people.
    pub name: Option<String>,
    /// What it may use.
    pub capabilities: Option<Vec<String>>,
    /// How Markdown is turned into what the platform can show.
    pub markdown: Option<Markdown>,
    /// Whether it is used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Whether the program may change the configuration from here.
    #[config(default = true)]
    pub config_writes: Option<bool>,
    /// Its number.
    pub account: Option<String>,
    pub http_url: Option<String>,
    pub http_host: Option<String>,
    pub http_port: Option<PositiveInteger>,
    /// The program `signal-cli`.
    pub cli_path: Option<Executable>,
    pub auto_start: Option<bool>,
    pub startup_timeout_ms: Option<TimeoutMs>,
    pub receive_mode: Option<SignalReceiveMode>,
    pub ignore_attachments: Option<bool>,
    pub ignore_stories: Option<bool>,
    /// Whether senders see that messages were read.
    pub send_read_receipts: Option<bool>,
    /// Who may write directly.
    #[config(default = Pairing, filled)]
    pub dm_policy: Option<DmPolicy>,
    /// Who may write directly.
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
    /// When small pieces are joined.
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    /// How large files may be.
    pub media_max_mb: Option<PositiveInteger>,
    /// Which reactions of people are told to the agent.
    pub reaction_notifications: Option<ReactionNotifications>,
    /// Whose reactions, where a list decides.
    pub reaction_allowlist: Option<Vec<TextOrNumber>>,
    /// What agents may do.
    pub actions: Option<ReactionActions>,
    /// How much agents react.
    pub reaction_level: Option<ReactionLevel>,
    /// What people see of heartbeats.
    pub heartbeat: Option<HeartbeatVisibility>,
    /// Text before replies.
    pub response_prefix: Option<String>,
}

#[section]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum SignalReceiveMode {
    OnStart,
    Manual,
}
