//! `hooks`: requests from outside that wake an agent.

pub mod gmail;
pub mod internal;

use schemars::JsonSchema;

use crate::sections::hooks::gmail::Gmail;
use crate::sections::hooks::internal::InternalHooks;
use crate::sections::literal::as_literals;
use crate::sections::number::PositiveInteger;

/// Requests from outside that wake an agent.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hooks {
    /// Whether they are taken. Default: false.
    pub enabled: Option<bool>,
    /// The path they come to. Default: /hooks.
    pub path: Option<String>,
    /// The secret that requests must bring.
    pub token: Option<String>,
    /// How large they may be. Default: 262144.
    pub max_body_bytes: Option<PositiveInteger>,
    /// Mappings that come along, by name.
    pub presets: Option<Vec<String>>,
    /// Where scripts of mappings are.
    pub transforms_dir: Option<String>,
    /// What is done with which request.
    pub mappings: Option<Vec<HookMapping>>,
    /// Mail that wakes an agent.
    pub gmail: Option<Gmail>,
    /// Scripts that run on events of the gateway.
    pub internal: Option<InternalHooks>,
}

/// What is done with one kind of request.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookMapping {
    pub id: Option<String>,
    pub r#match: Option<HookMatch>,
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
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookMatch {
    pub path: Option<String>,
    pub source: Option<String>,
}

/// A script that turns the request into a message.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookTransform {
    pub module: String,
    pub export: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum HookAction {
    Wake,
    Agent,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum WakeMode {
    Now,
    NextHeartbeat,
}

/// Where the reply goes.
#[derive(JsonSchema)]
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
