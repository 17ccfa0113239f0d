//! MISSING skills

use schemars::JsonSchema;
use serde_json::Value;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::NonNegativeInteger;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Skills {
    pub allow_bundled: Option<Vec<String>>,
    pub load: Option<SkillsLoad>,
    pub install: Option<SkillsInstall>,
    pub entries: Option<Map<SkillEntry>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillsLoad {
    pub extra_dirs: Option<Vec<String>>,
    pub watch: Option<bool>,
    pub watch_debounce_ms: Option<NonNegativeInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillsInstall {
    pub prefer_brew: Option<bool>,
    pub node_manager: Option<NodeManager>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillEntry {
    pub enabled: Option<bool>,
    pub api_key: Option<String>,
    pub env: Option<Map<String>>,
    pub config: Option<Map<Value>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum NodeManager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}
