//! Who may write to the assistant.

use yabby_config_derive::section;

use crate::sections::limit::Limit;
use crate::sections::map::Map;
use crate::sections::tools::policy::ToolPolicy;

/// One direct chat.
#[section]
pub struct DirectChat {
    /// How many messages of it are seen.
    pub history_limit: Option<Limit>,
}

/// One group; `*` is every group.
#[section]
pub struct Group {
    /// Whether the assistant must be called.
    #[config(default = true)]
    pub require_mention: Option<bool>,
    /// What it may use there.
    pub tools: Option<ToolPolicy>,
    /// The same by sender.
    pub tools_by_sender: Option<Map<ToolPolicy>>,
}

/// Which groups are listened to: all, none, or those on the list.
#[section]
#[serde(rename_all = "lowercase")]
pub enum GroupPolicy {
    Open,
    Disabled,
    Allowlist,
}

/// Who may write directly: those who paired, those on the list, everybody (`allowFrom` must then
/// hold `*`), or nobody.
#[section]
#[serde(rename_all = "lowercase")]
pub enum DmPolicy {
    Pairing,
    Allowlist,
    Open,
    Disabled,
}
