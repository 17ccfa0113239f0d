//! MISSING session/reset

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::number::{Hour, PositiveInteger};

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionReset {
    pub mode: Option<ResetMode>,
    pub at_hour: Option<Hour>,
    pub idle_minutes: Option<PositiveInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResetByType {
    pub dm: Option<SessionReset>,
    pub group: Option<SessionReset>,
    pub thread: Option<SessionReset>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ResetMode {
    Daily,
    Idle,
}
