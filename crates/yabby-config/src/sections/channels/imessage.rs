//! `channels.imessage`.

use yabby_config_derive::section;

use crate::sections::agents::streaming::BlockCoalescing;
use crate::sections::channels::access::{DirectChat, DmPolicy, Group, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, Markdown};
use crate::sections::channels::heartbeat_visibility::HeartbeatVisibility;
use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};
use crate::sections::text::{Executable, TextOrNumber};

/// iMessage. The keys of an account stand here too, and hold for all of them.
#[section]
pub struct Imessage {
    #[serde(flatten)]
    pub account: ImessageAccount,
    /// More accounts, by name.
    pub accounts: Option<Map<ImessageAccount>>,
}

/// One iMessage account.
#[section]
pub struct ImessageAccount {
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
    /// The program `imsg`.
    pub cli_path: Option<Executable>,
    /// The database of messages.
    pub db_path: Option<String>,
    pub remote_host: Option<String>,
    pub service: Option<ImessageService>,
    pub region: Option<String>,
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
    pub include_attachments: Option<bool>,
    /// How large files may be.
    pub media_max_mb: Option<PositiveInteger>,
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
    /// Groups by id; `*` is every group. They are a list of groups to listen to as well.
    pub groups: Option<Map<Group>>,
    /// What people see of heartbeats.
    pub heartbeat: Option<HeartbeatVisibility>,
    /// Text before replies.
    pub response_prefix: Option<String>,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ImessageService {
    Imessage,
    Sms,
    Auto,
}
