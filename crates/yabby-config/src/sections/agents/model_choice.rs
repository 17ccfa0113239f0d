//! MISSING agents/model_choice

use schemars::JsonSchema;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelChoice {
    pub primary: Option<String>,
    pub fallbacks: Option<Vec<String>>,
}

/// A model, alone or with the models to fall back to.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum ModelReference {
    Primary(String),
    Choice(ModelChoice),
}
