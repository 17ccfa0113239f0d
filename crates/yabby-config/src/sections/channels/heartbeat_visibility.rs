//! MISSING channels/heartbeat_visibility

use schemars::JsonSchema;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeartbeatVisibility {
    pub show_ok: Option<bool>,
    pub show_alerts: Option<bool>,
    pub use_indicator: Option<bool>,
}
