//! MISSING canvas_host

use schemars::JsonSchema;

use crate::sections::number::PositiveInteger;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CanvasHost {
    pub enabled: Option<bool>,
    pub root: Option<String>,
    pub port: Option<PositiveInteger>,
    pub live_reload: Option<bool>,
}
