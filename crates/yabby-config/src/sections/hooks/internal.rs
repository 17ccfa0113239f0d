//! MISSING hooks/internal

use schemars::JsonSchema;

use crate::sections::map::Map;
use crate::sections::plugins::InstallSource;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InternalHooks {
    pub enabled: Option<bool>,
    pub handlers: Option<Vec<InternalHookHandler>>,
    pub entries: Option<Map<InternalHookEntry>>,
    pub load: Option<InternalHookFolders>,
    pub installs: Option<Map<HookInstall>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InternalHookHandler {
    pub event: String,
    pub module: String,
    pub export: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InternalHookEntry {
    pub enabled: Option<bool>,
    pub env: Option<Map<String>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InternalHookFolders {
    pub extra_dirs: Option<Vec<String>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookInstall {
    pub source: InstallSource,
    pub spec: Option<String>,
    pub source_path: Option<String>,
    pub install_path: Option<String>,
    pub version: Option<String>,
    pub installed_at: Option<String>,
    pub hooks: Option<Vec<String>>,
}
