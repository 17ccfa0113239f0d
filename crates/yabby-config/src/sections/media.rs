//! `media`: files that come in.

use schemars::JsonSchema;

/// Files that come in.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Media {
    /// Whether files keep their names.
    pub preserve_filenames: Option<bool>,
}
