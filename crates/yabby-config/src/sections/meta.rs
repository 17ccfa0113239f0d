//! `meta`: who wrote the file last.

use yabby_config_derive::section;

/// Who wrote the file last.
#[section]
pub struct Meta {
    /// The version that wrote it.
    pub last_touched_version: Option<String>,
    /// When, as an ISO time.
    pub last_touched_at: Option<String>,
}
