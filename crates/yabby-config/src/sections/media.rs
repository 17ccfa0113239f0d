//! MISSING media

use schemars::JsonSchema;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Media {
    pub preserve_filenames: Option<bool>,
}
