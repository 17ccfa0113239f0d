//! `hooks.gmail`: mail that wakes an agent.

use yabby_config_derive::section;

use crate::sections::gateway::TailscaleMode;
use crate::sections::literal::as_literals;
use crate::sections::number::PositiveInteger;

/// Mail that wakes an agent.
#[section]
pub struct Gmail {
    pub account: Option<String>,
    pub label: Option<String>,
    pub topic: Option<String>,
    pub subscription: Option<String>,
    pub push_token: Option<String>,
    pub hook_url: Option<String>,
    pub include_body: Option<bool>,
    pub max_bytes: Option<PositiveInteger>,
    pub renew_every_minutes: Option<PositiveInteger>,
    pub allow_unsafe_external_content: Option<bool>,
    #[serde(default)]
    pub serve: GmailServe,
    #[serde(default)]
    pub tailscale: GmailTailscale,
    pub model: Option<String>,
    pub thinking: Option<GmailThinking>,
}

/// Where notices of mail arrive.
#[section]
pub struct GmailServe {
    pub bind: Option<String>,
    pub port: Option<PositiveInteger>,
    pub path: Option<String>,
}

/// How they get through Tailscale.
#[section]
pub struct GmailTailscale {
    pub mode: Option<TailscaleMode>,
    pub path: Option<String>,
    pub target: Option<String>,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum GmailThinking {
    Off,
    Minimal,
    Low,
    Medium,
    High,
}
