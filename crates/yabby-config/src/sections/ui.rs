//! MISSING ui

use schemars::JsonSchema;

use crate::sections::text::HexColor;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ui {
    pub seam_color: Option<HexColor>,
    pub assistant: Option<UiAssistant>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UiAssistant {
    #[schemars(length(max = 50))]
    pub name: Option<String>,
    #[schemars(length(max = 200))]
    pub avatar: Option<String>,
}
