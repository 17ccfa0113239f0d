//! `ui`: how the browser interface looks.

use yabby_config_derive::section;

use crate::sections::text::HexColor;

/// How the browser interface looks.
#[section]
pub struct Ui {
    /// The accent colour.
    pub seam_color: Option<HexColor>,
    /// Name and picture shown for the assistant.
    #[serde(default)]
    pub assistant: UiAssistant,
}

/// Name and picture shown for the assistant.
#[section]
pub struct UiAssistant {
    #[schemars(length(max = 50))]
    pub name: Option<String>,
    #[schemars(length(max = 200))]
    pub avatar: Option<String>,
}
