//! `skills`: which skills there are and what they need.

use serde_json::Value;
use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::NonNegativeInteger;

/// Which skills there are and what they need.
#[section]
pub struct Skills {
    /// The only skills of those that come along. Default: all.
    pub allow_bundled: Option<Vec<String>>,
    /// Where skills are.
    #[serde(default)]
    pub load: SkillsLoad,
    /// How what they need is installed.
    #[serde(default)]
    pub install: SkillsInstall,
    /// Settings by skill.
    pub entries: Option<Map<SkillEntry>>,
}

/// Where skills are.
#[section]
pub struct SkillsLoad {
    /// More folders.
    pub extra_dirs: Option<Vec<String>>,
    /// Whether changes count at once.
    #[config(default = true)]
    pub watch: Option<bool>,
    /// How long a file must be quiet.
    #[config(default = 250)]
    pub watch_debounce_ms: Option<NonNegativeInteger>,
}

/// How what skills need is installed.
#[section]
pub struct SkillsInstall {
    /// Whether Homebrew comes first.
    #[config(default = true)]
    pub prefer_brew: Option<bool>,
    /// Which package manager for Node.
    #[config(default = Npm)]
    pub node_manager: Option<NodeManager>,
}

/// Settings of one skill.
#[section]
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
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum NodeManager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}
