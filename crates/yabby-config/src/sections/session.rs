//! MISSING session

pub mod reset;
pub mod send_policy;

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};
use crate::sections::session::reset::{ResetByType, SessionReset};
use crate::sections::session::send_policy::SendPolicy;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Session {
    pub scope: Option<SessionScope>,
    pub dm_scope: Option<DmScope>,
    pub identity_links: Option<Map<Vec<String>>>,
    pub reset_triggers: Option<Vec<String>>,
    pub idle_minutes: Option<PositiveInteger>,
    pub reset: Option<SessionReset>,
    pub reset_by_type: Option<ResetByType>,
    pub reset_by_channel: Option<Map<SessionReset>>,
    pub store: Option<String>,
    pub typing_interval_seconds: Option<PositiveInteger>,
    pub typing_mode: Option<TypingMode>,
    pub main_key: Option<String>,
    pub send_policy: Option<SendPolicy>,
    pub agent_to_agent: Option<SessionAgentToAgent>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionAgentToAgent {
    #[schemars(range(min = 0, max = 5))]
    pub max_ping_pong_turns: Option<NonNegativeInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum TypingMode {
    Never,
    Instant,
    Thinking,
    Message,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum SessionScope {
    PerSender,
    Global,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum DmScope {
    Main,
    PerPeer,
    PerChannelPeer,
    PerAccountChannelPeer,
}
