//! MISSING tools

pub mod exec;
pub mod links;
pub mod media;
pub mod message;
pub mod policy;
pub mod web;

use schemars::JsonSchema;

use crate::sections::map::Map;
use crate::sections::text::TextOrNumber;
use crate::sections::tools::exec::Exec;
use crate::sections::tools::links::LinkTools;
use crate::sections::tools::media::MediaTools;
use crate::sections::tools::message::MessageTool;
use crate::sections::tools::policy::{ProviderToolPolicy, ToolPolicyHolder, ToolProfile};
use crate::sections::tools::web::WebTools;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ElevatedTools {
    pub enabled: Option<bool>,
    pub allow_from: Option<Map<Vec<TextOrNumber>>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tools {
    pub profile: Option<ToolProfile>,
    pub allow: Option<Vec<String>>,
    pub also_allow: Option<Vec<String>>,
    pub deny: Option<Vec<String>>,
    pub by_provider: Option<Map<ProviderToolPolicy>>,
    pub web: Option<WebTools>,
    pub media: Option<MediaTools>,
    pub links: Option<LinkTools>,
    pub message: Option<MessageTool>,
    pub agent_to_agent: Option<AgentToAgentTool>,
    pub elevated: Option<ElevatedTools>,
    pub exec: Option<Exec>,
    pub subagents: Option<ToolPolicyHolder>,
    pub sandbox: Option<ToolPolicyHolder>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentToAgentTool {
    pub enabled: Option<bool>,
    pub allow: Option<Vec<String>>,
}
