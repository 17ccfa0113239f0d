//! `tools`: what agents may use, and how.

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

/// Tools that run on the host.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ElevatedTools {
    /// Whether there are any. Default: true.
    pub enabled: Option<bool>,
    /// Who may use them, by channel.
    pub allow_from: Option<Map<Vec<TextOrNumber>>>,
}

/// What agents may use, and how.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tools {
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
    /// Searching and fetching.
    pub web: Option<WebTools>,
    /// Images, sound and film turned into text.
    pub media: Option<MediaTools>,
    /// Links in messages turned into text.
    pub links: Option<LinkTools>,
    /// Messages to other places than the one asked from.
    pub message: Option<MessageTool>,
    /// Whether agents may talk to each other.
    pub agent_to_agent: Option<AgentToAgentTool>,
    /// Tools that run on the host.
    pub elevated: Option<ElevatedTools>,
    /// Running commands.
    pub exec: Option<Exec>,
    /// Tools of agents that agents start.
    pub subagents: Option<ToolPolicyHolder>,
    /// Tools inside the sandbox.
    pub sandbox: Option<ToolPolicyHolder>,
}

/// Whether agents may talk to each other.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentToAgentTool {
    /// Whether they may. Default: false.
    pub enabled: Option<bool>,
    /// Which agents may.
    pub allow: Option<Vec<String>>,
}
