//! `tools`: what agents may use, and how.

pub mod exec;
pub mod links;
pub mod media;
pub mod message;
pub mod policy;
pub mod web;

use yabby_config_derive::section;

use crate::sections::map::Map;
use crate::sections::text::TextOrNumber;
use crate::sections::tools::exec::Exec;
use crate::sections::tools::links::LinkTools;
use crate::sections::tools::media::MediaTools;
use crate::sections::tools::message::MessageTool;
use crate::sections::tools::policy::{ProviderToolPolicy, ToolPolicyHolder, ToolProfile};
use crate::sections::tools::web::WebTools;

/// Tools that run on the host.
#[section]
pub struct ElevatedTools {
    /// Whether there are any.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Who may use them, by channel.
    pub allow_from: Option<Map<Vec<TextOrNumber>>>,
}

/// What agents may use, and how.
#[section]
pub struct Tools {
    /// A set of tools to start from.
    #[config(default = Full, live)]
    pub profile: Option<ToolProfile>,
    /// The only tools allowed: names, `group:…` or `*`.
    #[config(live)]
    pub allow: Option<Vec<String>>,
    /// Tools beyond those of the profile.
    #[config(live)]
    pub also_allow: Option<Vec<String>>,
    /// Tools that are not allowed; this wins.
    #[config(live)]
    pub deny: Option<Vec<String>>,
    /// The same by provider or model.
    #[config(live)]
    pub by_provider: Option<Map<ProviderToolPolicy>>,
    /// Searching and fetching.
    #[serde(default)]
    pub web: WebTools,
    /// Images, sound and film turned into text.
    #[serde(default)]
    pub media: MediaTools,
    /// Links in messages turned into text.
    #[serde(default)]
    pub links: LinkTools,
    /// Messages to other places than the one asked from.
    #[config(live)]
    #[serde(default)]
    pub message: MessageTool,
    /// Whether agents may talk to each other.
    #[config(live)]
    #[serde(default)]
    pub agent_to_agent: AgentToAgentTool,
    /// Tools that run on the host.
    #[config(live)]
    #[serde(default)]
    pub elevated: ElevatedTools,
    /// Running commands.
    #[config(live)]
    #[serde(default)]
    pub exec: Exec,
    /// Tools of agents that agents start.
    #[config(live)]
    #[serde(default)]
    pub subagents: ToolPolicyHolder,
    /// Tools inside the sandbox.
    #[config(live)]
    #[serde(default)]
    pub sandbox: ToolPolicyHolder,
}

/// Whether agents may talk to each other.
#[section]
pub struct AgentToAgentTool {
    /// Whether they may.
    #[config(default = false)]
    pub enabled: Option<bool>,
    /// Which agents may.
    pub allow: Option<Vec<String>>,
}
