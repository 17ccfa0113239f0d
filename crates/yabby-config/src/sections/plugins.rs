//! MISSING plugins

use schemars::JsonSchema;
use serde_json::Value;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plugins {
    pub enabled: Option<bool>,
    pub allow: Option<Vec<String>>,
    pub deny: Option<Vec<String>>,
    pub load: Option<PluginsLoad>,
    pub slots: Option<PluginSlots>,
    pub entries: Option<Map<PluginEntry>>,
    pub installs: Option<Map<PluginInstall>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginsLoad {
    pub paths: Option<Vec<String>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginSlots {
    pub memory: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginEntry {
    pub enabled: Option<bool>,
    pub config: Option<Map<Value>>,
}

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

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum InstallSource {
    Npm,
    Archive,
    Path,
}
