//! What people see of heartbeats.

use yabby_config_derive::section;

/// What people see of heartbeats.
#[section]
pub struct HeartbeatVisibility {
    /// Whether "nothing to do" is sent.
    pub show_ok: Option<bool>,
    /// Whether replies are sent.
    pub show_alerts: Option<bool>,
    /// Whether the interface shows them.
    pub use_indicator: Option<bool>,
}
