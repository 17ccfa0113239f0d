//! MISSING env

use schemars::JsonSchema;

use crate::sections::map::Map;
use crate::sections::number::NonNegativeInteger;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Env {
    pub shell_env: Option<ShellEnv>,
    pub vars: Option<Map<String>>,
    #[serde(flatten)]
    pub others: Map<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShellEnv {
    pub enabled: Option<bool>,
    pub timeout_ms: Option<NonNegativeInteger>,
}
