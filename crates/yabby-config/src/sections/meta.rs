//! `meta`: who wrote the file last.

use schemars::JsonSchema;

/// Who wrote the file last.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Meta {
    /// The version that wrote it.
    pub last_touched_version: Option<String>,
    /// When, as an ISO time.
    pub last_touched_at: Option<String>,
}
