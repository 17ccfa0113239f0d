//! `sandbox`: where tools run when they should not run on the host.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, Number, PositiveInteger, PositiveNumber};
use crate::sections::text::TextOrNumber;
use crate::sections::word::Word;

/// Where tools run when they should not run on the host.
#[section]
pub struct Sandbox {
    /// For which sessions tools run apart. Default: off.
    pub mode: Option<Word<SandboxMode>>,
    /// What they see of the workspace. Default: none.
    pub workspace_access: Option<Word<WorkspaceAccess>>,
    /// Which sessions tools see.
    #[config(default = Spawned)]
    pub session_tools_visibility: Option<SessionToolsVisibility>,
    /// What shares a container. Default: agent.
    pub scope: Option<Word<SandboxScope>>,
    pub per_session: Option<bool>,
    pub workspace_root: Option<String>,
    /// The container.
    #[serde(default)]
    pub docker: SandboxDocker,
    /// A browser in a container.
    #[serde(default)]
    pub browser: SandboxBrowser,
    /// When containers are removed.
    #[serde(default)]
    pub prune: SandboxPrune,
}

/// The container.
#[section]
pub struct SandboxDocker {
    pub image: Option<String>,
    pub container_prefix: Option<String>,
    pub workdir: Option<String>,
    pub read_only_root: Option<bool>,
    pub tmpfs: Option<Vec<String>>,
    pub network: Option<String>,
    pub user: Option<String>,
    pub cap_drop: Option<Vec<String>>,
    pub env: Option<Map<String>>,
    pub setup_command: Option<String>,
    pub pids_limit: Option<PositiveInteger>,
    pub memory: Option<TextOrNumber>,
    pub memory_swap: Option<TextOrNumber>,
    pub cpus: Option<PositiveNumber>,
    pub ulimits: Option<Map<Ulimit>>,
    pub seccomp_profile: Option<String>,
    pub apparmor_profile: Option<String>,
    pub dns: Option<Vec<String>>,
    pub extra_hosts: Option<Vec<String>>,
    pub binds: Option<Vec<String>>,
}

/// A limit that may be exceeded for a while, and one that may not.
#[section]
pub struct UlimitPair {
    pub soft: Option<NonNegativeInteger>,
    pub hard: Option<NonNegativeInteger>,
}

/// A browser in a container.
#[section]
pub struct SandboxBrowser {
    pub enabled: Option<bool>,
    pub image: Option<String>,
    pub container_prefix: Option<String>,
    pub cdp_port: Option<PositiveInteger>,
    pub vnc_port: Option<PositiveInteger>,
    pub no_vnc_port: Option<PositiveInteger>,
    pub headless: Option<bool>,
    pub enable_no_vnc: Option<bool>,
    pub allow_host_control: Option<bool>,
    pub auto_start: Option<bool>,
    pub auto_start_timeout_ms: Option<PositiveInteger>,
}

/// When containers are removed.
#[section]
pub struct SandboxPrune {
    pub idle_hours: Option<NonNegativeInteger>,
    pub max_age_days: Option<NonNegativeInteger>,
}

/// A resource limit of the container: `soft:hard` as text, one number, or both apart.
#[section]
#[serde(untagged)]
pub enum Ulimit {
    Text(String),
    Number(Number),
    Pair(UlimitPair),
}

/// For which sessions tools run apart.
#[section]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum SandboxMode {
    Off,
    NonMain,
    All,
}

/// What tools see of the workspace.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum WorkspaceAccess {
    None,
    Ro,
    Rw,
}

/// Which sessions tools see.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum SessionToolsVisibility {
    Spawned,
    All,
}

/// What shares a container.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum SandboxScope {
    Session,
    Agent,
    Shared,
}
