//! `agents.list[]`: one agent, and what it does differently.

use schemars::JsonSchema;

use crate::sections::agents::heartbeat::Heartbeat;
use crate::sections::agents::memory_search::MemorySearch;
use crate::sections::agents::model_choice::ModelReference;
use crate::sections::agents::sandbox::Sandbox;
use crate::sections::agents::streaming::HumanDelay;
use crate::sections::map::Map;
use crate::sections::messages::GroupChat;
use crate::sections::tools::ElevatedTools;
use crate::sections::tools::exec::AgentExec;
use crate::sections::tools::policy::{ProviderToolPolicy, ToolPolicyHolder, ToolProfile};

/// One agent, and what it does differently.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentEntry {
    /// Its name in keys and paths.
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
    pub memory_search: Option<MemorySearch>,
    /// Its pauses.
    pub human_delay: Option<HumanDelay>,
    /// Its own heartbeat. Where any agent has one, only those have.
    pub heartbeat: Option<Heartbeat>,
    /// Who it is.
    pub identity: Option<Identity>,
    /// How it behaves in groups.
    pub group_chat: Option<GroupChat>,
    /// Agents it may start.
    pub subagents: Option<AgentSubagents>,
    /// Where its tools run.
    pub sandbox: Option<Sandbox>,
    /// What it may use.
    pub tools: Option<AgentTools>,
}

/// Who an agent is.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Identity {
    pub name: Option<String>,
    pub theme: Option<String>,
    /// A sign to react with.
    pub emoji: Option<String>,
    /// A picture: a path in the workspace, an address, or a data URI.
    pub avatar: Option<String>,
}

/// Agents that an agent may start.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentSubagents {
    /// Which agents. Default: only itself.
    pub allow_agents: Option<Vec<String>>,
    pub model: Option<ModelReference>,
    pub thinking: Option<String>,
}

/// What an agent may use.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentTools {
    /// A set of tools to start from. Default: full.
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
    pub elevated: Option<ElevatedTools>,
    /// Running commands.
    pub exec: Option<AgentExec>,
    /// Tools inside the sandbox.
    pub sandbox: Option<ToolPolicyHolder>,
}
