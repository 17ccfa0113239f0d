//! `canvasHost`: pages that agents show on nodes.

use schemars::JsonSchema;

use crate::sections::number::PositiveInteger;

/// Pages that agents show on nodes.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CanvasHost {
    pub enabled: Option<bool>,
    pub root: Option<String>,
    pub port: Option<PositiveInteger>,
    pub live_reload: Option<bool>,
}
