//! `channels.bluebubbles`.

use yabby_config_derive::section;

use crate::sections::agents::streaming::BlockCoalescing;
use crate::sections::channels::access::{DirectChat, DmPolicy, Group, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, Markdown};
use crate::sections::channels::heartbeat_visibility::HeartbeatVisibility;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};
use crate::sections::text::TextOrNumber;

/// iMessage through BlueBubbles. The keys of an account stand here too, and hold for all of them.
#[section]
pub struct BlueBubbles {
    #[serde(flatten)]
    pub account: BlueBubblesAccount,
    /// More accounts, by name.
    pub accounts: Option<Map<BlueBubblesAccount>>,
    /// What agents may do.
    pub actions: Option<BlueBubblesActions>,
}

/// One BlueBubbles server.
#[section]
pub struct BlueBubblesAccount {
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
    pub server_url: Option<String>,
    pub password: Option<String>,
    /// The path on this side.
    pub webhook_path: Option<String>,
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
    /// How large files may be.
    pub media_max_mb: Option<PositiveInteger>,
    /// Whether senders see that messages were read.
    pub send_read_receipts: Option<bool>,
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

/// What agents may do.
#[section]
pub struct BlueBubblesActions {
    pub reactions: Option<bool>,
    pub edit: Option<bool>,
    pub unsend: Option<bool>,
    pub reply: Option<bool>,
    pub send_with_effect: Option<bool>,
    pub rename_group: Option<bool>,
    pub set_group_icon: Option<bool>,
    pub add_participant: Option<bool>,
    pub remove_participant: Option<bool>,
    pub leave_group: Option<bool>,
    pub send_attachment: Option<bool>,
}
