//! `skills`: which skills there are and what they need.

use schemars::JsonSchema;
use serde_json::Value;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::NonNegativeInteger;

/// Which skills there are and what they need.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Skills {
    /// The only skills of those that come along. Default: all.
    pub allow_bundled: Option<Vec<String>>,
    /// Where skills are.
    pub load: Option<SkillsLoad>,
    /// How what they need is installed.
    pub install: Option<SkillsInstall>,
    /// Settings by skill.
    pub entries: Option<Map<SkillEntry>>,
}

/// Where skills are.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillsLoad {
    /// More folders.
    pub extra_dirs: Option<Vec<String>>,
    /// Whether changes count at once. Default: true.
    pub watch: Option<bool>,
    /// How long a file must be quiet. Default: 250.
    pub watch_debounce_ms: Option<NonNegativeInteger>,
}

/// How what skills need is installed.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillsInstall {
    /// Whether Homebrew comes first. Default: true.
    pub prefer_brew: Option<bool>,
    /// Which package manager for Node. Default: npm.
    pub node_manager: Option<NodeManager>,
}

/// Settings of one skill.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillEntry {
    /// Whether it is used.
    pub enabled: Option<bool>,
    /// Its key.
    pub api_key: Option<String>,
    /// Variables for it.
    pub env: Option<Map<String>>,
    /// Whatever it wants to know.
    pub config: Option<Map<Value>>,
}

/// A package manager for Node.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum NodeManager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}
