//! `plugins`: which plugins of OpenClaw's are used.

use schemars::JsonSchema;
use serde_json::Value;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;

/// Which plugins of OpenClaw's are used.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plugins {
    /// Whether any are. Default: true.
    pub enabled: Option<bool>,
    /// The only ones that are.
    pub allow: Option<Vec<String>>,
    /// Those that are not; this wins.
    pub deny: Option<Vec<String>>,
    /// Where else plugins are.
    pub load: Option<PluginsLoad>,
    /// Which plugin does what only one can.
    pub slots: Option<PluginSlots>,
    /// Settings by plugin.
    pub entries: Option<Map<PluginEntry>>,
    /// Where installed ones came from; written by the program.
    pub installs: Option<Map<PluginInstall>>,
}

/// Where else plugins are.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginsLoad {
    /// Files and folders.
    pub paths: Option<Vec<String>>,
}

/// Which plugin does what only one can.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginSlots {
    /// Which keeps the memory; `none` for none. Default: memory-core.
    pub memory: Option<String>,
}

/// Settings of one plugin.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginEntry {
    /// Whether it is used.
    pub enabled: Option<bool>,
    /// Whatever it wants to know.
    pub config: Option<Map<Value>>,
}

/// Where an installed plugin came from.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginInstall {
    pub source: InstallSource,
    pub spec: Option<String>,
    pub source_path: Option<String>,
    pub install_path: Option<String>,
    pub version: Option<String>,
    pub installed_at: Option<String>,
}

/// Where something came from.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum InstallSource {
    Npm,
    Archive,
    Path,
}
