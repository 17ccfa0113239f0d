//! `plugins`: which plugins of OpenClaw's are used.

use serde_json::Value;
use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;

/// Which plugins of OpenClaw's are used.
#[section]
pub struct Plugins {
    /// Whether any are.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// The only ones that are.
    pub allow: Option<Vec<String>>,
    /// Those that are not; this wins.
    pub deny: Option<Vec<String>>,
    /// Where else plugins are.
    #[serde(default)]
    pub load: PluginsLoad,
    /// Which plugin does what only one can.
    #[serde(default)]
    pub slots: PluginSlots,
    /// Settings by plugin.
    pub entries: Option<Map<PluginEntry>>,
    /// Where installed ones came from; written by the program.
    pub installs: Option<Map<PluginInstall>>,
}

/// Where else plugins are.
#[section]
pub struct PluginsLoad {
    /// Files and folders.
    pub paths: Option<Vec<String>>,
}

/// Which plugin does what only one can.
#[section]
pub struct PluginSlots {
    /// Which keeps the memory; `none` for none.
    #[config(default = "memory-core")]
    pub memory: Option<String>,
}

/// Settings of one plugin.
#[section]
pub struct PluginEntry {
    /// Whether it is used.
    pub enabled: Option<bool>,
    /// Whatever it wants to know.
    pub config: Option<Map<Value>>,
}

/// Where an installed plugin came from.
#[section]
pub struct PluginInstall {
    pub source: InstallSource,
    pub spec: Option<String>,
    pub source_path: Option<String>,
    pub install_path: Option<String>,
    pub version: Option<String>,
    pub installed_at: Option<String>,
}

/// Where something came from.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum InstallSource {
    Npm,
    Archive,
    Path,
}
