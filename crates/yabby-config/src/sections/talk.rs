//! MISSING talk

use schemars::JsonSchema;

use crate::sections::map::Map;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Talk {
    pub voice_id: Option<String>,
    pub voice_aliases: Option<Map<String>>,
    pub model_id: Option<String>,
    pub output_format: Option<String>,
    pub api_key: Option<String>,
    pub interrupt_on_speech: Option<bool>,
}
