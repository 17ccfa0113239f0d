//! `channels.whatsapp`.

use yabby_config_derive::section;

use crate::sections::agents::streaming::BlockCoalescing;
use crate::sections::channels::access::{DirectChat, DmPolicy, Group, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, Markdown};
use crate::sections::channels::heartbeat_visibility::HeartbeatVisibility;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};

/// WhatsApp. Most keys of an account stand here too, and hold for all of them.
#[section]
pub struct Whatsapp {
    /// Accounts by name.
    pub accounts: Option<Map<WhatsappAccount>>,
    /// What it may use.
    pub capabilities: Option<Vec<String>>,
    /// How Markdown is turned into what the platform can show.
    pub markdown: Option<Markdown>,
    /// Whether the program may change the configuration from here.
    #[config(default = true)]
    pub config_writes: Option<bool>,
    /// Whether senders see that messages were read.
    pub send_read_receipts: Option<bool>,
    /// Who may write directly.
    #[config(default = Pairing, filled)]
    pub dm_policy: Option<DmPolicy>,
    /// Text before what arrives.
    pub message_prefix: Option<String>,
    /// Text before replies.
    pub response_prefix: Option<String>,
    /// Whether the assistant shares the owner's number.
    pub self_chat_mode: Option<bool>,
    /// Who may write directly: numbers.
    pub allow_from: Option<Vec<String>>,
    /// Who may write in groups.
    pub group_allow_from: Option<Vec<String>>,
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
    /// How large files may be.
    #[config(default = 50, filled)]
    pub media_max_mb: Option<PositiveInteger>,
    /// Whether replies come in pieces.
    pub block_streaming: Option<bool>,
    /// When small pieces are joined.
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    /// What agents may do.
    pub actions: Option<WhatsappActions>,
    /// Groups by id; `*` is every group. They are a list of groups to listen to as well.
    pub groups: Option<Map<Group>>,
    /// The reaction that says "seen".
    pub ack_reaction: Option<WhatsappAckReaction>,
    /// How long to wait for the next quick message.
    #[config(default = 0, filled)]
    pub debounce_ms: Option<NonNegativeInteger>,
    /// What people see of heartbeats.
    pub heartbeat: Option<HeartbeatVisibility>,
}

/// One WhatsApp account.
#[section]
pub struct WhatsappAccount {
    /// Its name for people.
    pub name: Option<String>,
    /// What it may use.
    pub capabilities: Option<Vec<String>>,
    /// How Markdown is turned into what the platform can show.
    pub markdown: Option<Markdown>,
    /// Whether the program may change the configuration from here.
    #[config(default = true)]
    pub config_writes: Option<bool>,
    /// Whether it is used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Whether senders see that messages were read.
    pub send_read_receipts: Option<bool>,
    /// Text before what arrives.
    pub message_prefix: Option<String>,
    /// Text before replies.
    pub response_prefix: Option<String>,
    /// Where its credentials are.
    pub auth_dir: Option<String>,
    /// Who may write directly.
    #[config(default = Pairing, filled)]
    pub dm_policy: Option<DmPolicy>,
    /// Whether the assistant shares the owner's number.
    pub self_chat_mode: Option<bool>,
    /// Who may write directly: numbers.
    pub allow_from: Option<Vec<String>>,
    /// Who may write in groups.
    pub group_allow_from: Option<Vec<String>>,
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
    /// How large files may be.
    pub media_max_mb: Option<PositiveInteger>,
    /// Whether replies come in pieces.
    pub block_streaming: Option<bool>,
    /// When small pieces are joined.
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    /// Groups by id; `*` is every group. They are a list of groups to listen to as well.
    pub groups: Option<Map<Group>>,
    /// The reaction that says "seen".
    pub ack_reaction: Option<WhatsappAckReaction>,
    /// How long to wait for the next quick message.
    #[config(default = 0, filled)]
    pub debounce_ms: Option<NonNegativeInteger>,
    /// What people see of heartbeats.
    pub heartbeat: Option<HeartbeatVisibility>,
}

/// The reaction that says "seen".
#[section]
pub struct WhatsappAckReaction {
    pub emoji: Option<String>,
    #[config(default = true, filled)]
    pub direct: Option<bool>,
    #[config(default = Mentions, filled)]
    pub group: Option<WhatsappGroupAck>,
}

/// What agents may do.
#[section]
pub struct WhatsappActions {
    pub reactions: Option<bool>,
    pub send_message: Option<bool>,
    pub polls: Option<bool>,
}

/// When the reaction is used in groups.
#[section]
#[serde(rename_all = "lowercase")]
pub enum WhatsappGroupAck {
    Always,
    Mentions,
    Never,
}
