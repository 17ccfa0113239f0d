//! What all channels share: who may write, what is listened to, how much is seen, and how replies go out.

use yabby_config_derive::section;

use crate::sections::channels::access::{DirectChat, DmPolicy, GroupPolicy};
use crate::sections::channels::delivery::{ChunkMode, ReplyToMode};
use crate::sections::limit::Limit;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger, PositiveNumber};
use crate::sections::text::TextOrNumber;
use crate::sections::tools::policy::ToolPolicy;
use crate::sections::word::Word;

/// A channel or one of its accounts, whatever the platform.
#[section(open)]
pub struct ChannelSettings {
    /// Its name for people.
    pub name: Option<String>,
    /// Whether it is used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Who may write directly.
    pub dm_policy: Option<Word<DmPolicy>>,
    /// Who may write directly: ids and names.
    pub allow_from: Option<Vec<TextOrNumber>>,
    /// The same of platforms that keep it apart.
    pub dm: Option<ChannelDm>,
    /// Who may write in groups.
    pub group_allow_from: Option<Vec<TextOrNumber>>,
    /// Which groups are listened to.
    pub group_policy: Option<Word<GroupPolicy>>,
    /// Groups by id; `*` is every group.
    pub groups: Option<Map<GroupSettings>>,
    /// How many messages of others are seen in groups.
    pub history_limit: Option<NonNegativeInteger>,
    /// How many messages are seen in direct chats.
    pub dm_history_limit: Option<Limit>,
    /// Direct chats by id.
    pub dms: Option<Map<DirectChat>>,
    /// How long one message may be.
    pub text_chunk_limit: Option<PositiveInteger>,
    /// Where longer ones are cut.
    #[config(default = Length)]
    pub chunk_mode: Option<ChunkMode>,
    /// Whether replies come in pieces.
    pub block_streaming: Option<bool>,
    /// How large files may be.
    pub media_max_mb: Option<PositiveNumber>,
    /// Which pieces of a reply quote.
    pub reply_to_mode: Option<Word<ReplyToMode>>,
    /// Text before replies.
    pub response_prefix: Option<String>,
    /// More accounts, by name.
    pub accounts: Option<Map<ChannelSettings>>,
}

/// Direct chats of platforms that keep what is said of them apart.
#[section(open)]
pub struct ChannelDm {
    /// Who may write.
    pub policy: Option<Word<DmPolicy>>,
    /// Who may write: ids and names.
    pub allow_from: Option<Vec<TextOrNumber>>,
    /// Which pieces of a reply quote.
    pub reply_to_mode: Option<Word<ReplyToMode>>,
}

/// One group, whatever the platform; `*` is every group.
#[section(open)]
pub struct GroupSettings {
    /// Whether the assistant must be called.
    #[config(default = true)]
    pub require_mention: Option<bool>,
    /// What it may use there.
    pub tools: Option<ToolPolicy>,
    /// The same by sender.
    pub tools_by_sender: Option<Map<ToolPolicy>>,
    /// The only skills used there.
    pub skills: Option<Vec<String>>,
}
