//! `hooks.internal`: scripts that run on events of the gateway.

use yabby_config_derive::section;

use crate::sections::map::Map;
use crate::sections::plugins::InstallSource;

/// Scripts that run on events of the gateway.
#[section]
pub struct InternalHooks {
    /// Whether they run.
    pub enabled: Option<bool>,
    /// Scripts by event.
    pub handlers: Option<Vec<InternalHookHandler>>,
    /// Settings of installed ones by name.
    pub entries: Option<Map<InternalHookEntry>>,
    /// Where else to look for them.
    #[serde(default)]
    pub load: InternalHookFolders,
    /// Where installed ones came from; written by the program.
    pub installs: Option<Map<HookInstall>>,
}

/// A script for an event.
#[section]
pub struct InternalHookHandler {
    pub event: String,
    pub module: String,
    pub export: Option<String>,
}

/// Settings of one script.
#[section]
pub struct InternalHookEntry {
    pub enabled: Option<bool>,
    pub env: Option<Map<String>>,
}

/// Where else to look for scripts.
#[section]
pub struct InternalHookFolders {
    pub extra_dirs: Option<Vec<String>>,
}

/// Where an installed script came from.
#[section]
pub struct HookInstall {
    pub source: InstallSource,
    pub spec: Option<String>,
    pub source_path: Option<String>,
    pub install_path: Option<String>,
    pub version: Option<String>,
    pub installed_at: Option<String>,
    pub hooks: Option<Vec<String>>,
}
