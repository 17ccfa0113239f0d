//! MISSING agents/entry

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

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentEntry {
    pub id: String,
    pub default: Option<bool>,
    pub name: Option<String>,
    pub workspace: Option<String>,
    pub agent_dir: Option<String>,
    pub model: Option<ModelReference>,
    pub skills: Option<Vec<String>>,
    pub memory_search: Option<MemorySearch>,
    pub human_delay: Option<HumanDelay>,
    pub heartbeat: Option<Heartbeat>,
    pub identity: Option<Identity>,
    pub group_chat: Option<GroupChat>,
    pub subagents: Option<AgentSubagents>,
    pub sandbox: Option<Sandbox>,
    pub tools: Option<AgentTools>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Identity {
    pub name: Option<String>,
    pub theme: Option<String>,
    pub emoji: Option<String>,
    pub avatar: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentSubagents {
    pub allow_agents: Option<Vec<String>>,
    pub model: Option<ModelReference>,
    pub thinking: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentTools {
    pub profile: Option<ToolProfile>,
    pub allow: Option<Vec<String>>,
    pub also_allow: Option<Vec<String>>,
    pub deny: Option<Vec<String>>,
    pub by_provider: Option<Map<ProviderToolPolicy>>,
    pub elevated: Option<ElevatedTools>,
    pub exec: Option<AgentExec>,
    pub sandbox: Option<ToolPolicyHolder>,
}
