//! MISSING messages/queue

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Queue {
    pub mode: Option<QueueMode>,
    pub by_channel: Option<QueueByChannel>,
    pub debounce_ms: Option<NonNegativeInteger>,
    pub debounce_ms_by_channel: Option<Map<NonNegativeInteger>>,
    pub cap: Option<PositiveInteger>,
    pub drop: Option<QueueDrop>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueueByChannel {
    pub whatsapp: Option<QueueMode>,
    pub telegram: Option<QueueMode>,
    pub discord: Option<QueueMode>,
    pub slack: Option<QueueMode>,
    pub mattermost: Option<QueueMode>,
    pub signal: Option<QueueMode>,
    pub imessage: Option<QueueMode>,
    pub msteams: Option<QueueMode>,
    pub webchat: Option<QueueMode>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InboundDebounce {
    pub debounce_ms: Option<NonNegativeInteger>,
    pub by_channel: Option<Map<NonNegativeInteger>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum QueueMode {
    Steer,
    Followup,
    Collect,
    SteerBacklog,
    #[serde(rename = "steer+backlog")]
    SteerPlusBacklog,
    Queue,
    Interrupt,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum QueueDrop {
    Old,
    New,
    Summarize,
}
