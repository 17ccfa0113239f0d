//! MISSING hooks

pub mod gmail;
pub mod internal;

use schemars::JsonSchema;

use crate::sections::hooks::gmail::Gmail;
use crate::sections::hooks::internal::InternalHooks;
use crate::sections::literal::as_literals;
use crate::sections::number::PositiveInteger;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hooks {
    pub enabled: Option<bool>,
    pub path: Option<String>,
    pub token: Option<String>,
    pub max_body_bytes: Option<PositiveInteger>,
    pub presets: Option<Vec<String>>,
    pub transforms_dir: Option<String>,
    pub mappings: Option<Vec<HookMapping>>,
    pub gmail: Option<Gmail>,
    pub internal: Option<InternalHooks>,
}

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

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookMatch {
    pub path: Option<String>,
    pub source: Option<String>,
}

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
