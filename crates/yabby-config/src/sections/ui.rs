//! `ui`: how the browser interface looks.

use schemars::JsonSchema;

use crate::sections::text::HexColor;

/// How the browser interface looks.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ui {
    /// The accent colour.
    pub seam_color: Option<HexColor>,
    /// Name and picture shown for the assistant.
    pub assistant: Option<UiAssistant>,
}

/// Name and picture shown for the assistant.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UiAssistant {
    #[schemars(length(max = 50))]
    pub name: Option<String>,
    #[schemars(length(max = 200))]
    pub avatar: Option<String>,
}
