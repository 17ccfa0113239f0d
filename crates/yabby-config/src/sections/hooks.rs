//! `hooks`: requests from outside that wake an agent.

pub mod gmail;
pub mod internal;

use yabby_config_derive::section;

use crate::sections::hooks::gmail::Gmail;
use crate::sections::hooks::internal::InternalHooks;
use crate::sections::literal::as_literals;
use crate::sections::number::PositiveInteger;

/// Requests from outside that wake an agent.
#[section]
pub struct Hooks {
    /// Whether they are taken.
    #[config(default = false)]
    pub enabled: Option<bool>,
    /// The path they come to.
    #[config(default = "/hooks")]
    pub path: Option<String>,
    /// The secret that requests must bring.
    pub token: Option<String>,
    /// How large they may be.
    #[config(default = 262144)]
    pub max_body_bytes: Option<PositiveInteger>,
    /// Mappings that come along, by name.
    pub presets: Option<Vec<String>>,
    /// Where scripts of mappings are.
    pub transforms_dir: Option<String>,
    /// What is done with which request.
    pub mappings: Option<Vec<HookMapping>>,
    /// Mail that wakes an agent.
    #[serde(default)]
    pub gmail: Gmail,
    /// Scripts that run on events of the gateway.
    #[serde(default)]
    pub internal: InternalHooks,
}

/// What is done with one kind of request.
#[section]
pub struct HookMapping {
    pub id: Option<String>,
    #[serde(default)]
    pub r#match: HookMatch,
    pub action: Option<HookAction>,
    pub wake_mode: Option<WakeMode>,
    pub name: Option<String>,
    pub session_key: Option<String>,
    pub message_template: Option<String>,
    pub text_template: Option<String>,
    pub deliver: Option<bool>,
    pub allow_unsafe_external_content: Option<bool>,
    pub channel: Option<HookChannel>,
    pub to: Option<String>,
    pub model: Option<String>,
    pub thinking: Option<String>,
    pub timeout_seconds: Option<PositiveInteger>,
    pub transform: Option<HookTransform>,
}

/// Which requests. Other keys are ignored.
#[section(open)]
pub struct HookMatch {
    pub path: Option<String>,
    pub source: Option<String>,
}

/// A script that turns the request into a message.
#[section]
pub struct HookTransform {
    pub module: String,
    pub export: Option<String>,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum HookAction {
    Wake,
    Agent,
}

#[section]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum WakeMode {
    Now,
    NextHeartbeat,
}

/// Where the reply goes.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum HookChannel {
    Last,
    Whatsapp,
    Telegram,
    Discord,
    Slack,
    Signal,
    Imessage,
    Msteams,
}
