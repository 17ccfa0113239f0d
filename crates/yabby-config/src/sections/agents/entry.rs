//! `agents.list[]`: one agent, and what it does differently.

use yabby_config_derive::section;

use crate::sections::agents::heartbeat::Heartbeat;
use crate::sections::agents::memory_search::MemorySearch;
use crate::sections::agents::model_choice::ModelReference;
use crate::sections::agents::sandbox::Sandbox;
use crate::sections::agents::streaming::HumanDelay;
use crate::sections::extras::ExtraAgent;
use crate::sections::map::Map;
use crate::sections::messages::GroupChat;
use crate::sections::tools::ElevatedTools;
use crate::sections::tools::exec::AgentExec;
use crate::sections::tools::policy::{ProviderToolPolicy, ToolPolicyHolder, ToolProfile};

/// One agent, and what it does differently.
#[section]
pub struct AgentEntry {
    /// Its name in keys and paths.
    #[config(or_default)]
    pub id: String,
    /// Whether it answers where nothing else is said; else the first of the list does.
    pub default: Option<bool>,
    /// Its name for people.
    pub name: Option<String>,
    /// Its folder.
    pub workspace: Option<String>,
    /// Its credentials and sessions. Default: `<state>/agents/<id>/agent`.
    pub agent_dir: Option<String>,
    /// Its model, alone or with those to fall back to.
    pub model: Option<ModelReference>,
    /// The only skills it has.
    pub skills: Option<Vec<String>>,
    /// Its search.
    #[serde(default)]
    pub memory_search: MemorySearch,
    /// Its pauses.
    #[serde(default)]
    pub human_delay: HumanDelay,
    /// Its own heartbeat. Where any agent has one, only those have.
    pub heartbeat: Option<Heartbeat>,
    /// Who it is.
    pub identity: Option<Identity>,
    /// How it behaves in groups.
    #[serde(default)]
    pub group_chat: GroupChat,
    /// Agents it may start.
    #[serde(default)]
    pub subagents: AgentSubagents,
    /// Where its tools run.
    #[serde(default)]
    pub sandbox: Sandbox,
    /// What it may use.
    #[serde(default)]
    pub tools: AgentTools,
    /// What only yabby knows.
    #[config(whole)]
    pub extras: ExtraAgent,
}

/// Who an agent is.
#[section]
pub struct Identity {
    pub name: Option<String>,
    pub theme: Option<String>,
    /// A sign to react with.
    pub emoji: Option<String>,
    /// A picture: a path in the workspace, an address, or a data URI.
    pub avatar: Option<String>,
}

/// Agents that an agent may start.
#[section]
pub struct AgentSubagents {
    /// Which agents. Default: only itself.
    pub allow_agents: Option<Vec<String>>,
    pub model: Option<ModelReference>,
    pub thinking: Option<String>,
}

/// What an agent may use.
#[section]
pub struct AgentTools {
    /// A set of tools to start from.
    #[config(default = Full)]
    pub profile: Option<ToolProfile>,
    /// The only tools allowed: names, `group:…` or `*`.
    pub allow: Option<Vec<String>>,
    /// Tools beyond those of the profile.
    pub also_allow: Option<Vec<String>>,
    /// Tools that are not allowed; this wins.
    pub deny: Option<Vec<String>>,
    /// The same by provider or model.
    pub by_provider: Option<Map<ProviderToolPolicy>>,
    /// Tools that run on the host.
    #[serde(default)]
    pub elevated: ElevatedTools,
    /// Running commands.
    #[serde(default)]
    pub exec: AgentExec,
    /// Tools inside the sandbox.
    #[serde(default)]
    pub sandbox: ToolPolicyHolder,
}
