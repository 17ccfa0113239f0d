//! What people see of heartbeats.

use schemars::JsonSchema;

/// What people see of heartbeats.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeartbeatVisibility {
    /// Whether "nothing to do" is sent.
    pub show_ok: Option<bool>,
    /// Whether replies are sent.
    pub show_alerts: Option<bool>,
    /// Whether the interface shows them.
    pub use_indicator: Option<bool>,
}
