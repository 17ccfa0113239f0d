//! Who may write to the assistant.

use schemars::JsonSchema;

use crate::sections::map::Map;
use crate::sections::number::NonNegativeInteger;
use crate::sections::tools::policy::ToolPolicy;

/// One direct chat.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DirectChat {
    /// How many messages of it are seen.
    pub history_limit: Option<NonNegativeInteger>,
}

/// One group; `*` is every group.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Group {
    /// Whether the assistant must be called. Default: true.
    pub require_mention: Option<bool>,
    /// What it may use there.
    pub tools: Option<ToolPolicy>,
    /// The same by sender.
    pub tools_by_sender: Option<Map<ToolPolicy>>,
}

/// Which groups are listened to: all, none, or those on the list.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GroupPolicy {
    Open,
    Disabled,
    Allowlist,
}

/// Who may write directly: those who paired, those on the list, everybody (`allowFrom` must then
/// hold `*`), or nobody.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DmPolicy {
    Pairing,
    Allowlist,
    Open,
    Disabled,
}
