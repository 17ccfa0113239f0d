//! MISSING commands

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::number::NonNegativeInteger;
use crate::sections::text::TextOrNumber;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Commands {
    #[schemars(extend("default" = "auto"))]
    pub native: Option<NativeCommands>,
    #[schemars(extend("default" = "auto"))]
    pub native_skills: Option<NativeCommands>,
    pub text: Option<bool>,
    pub bash: Option<bool>,
    #[schemars(range(min = 0, max = 30000))]
    pub bash_foreground_ms: Option<NonNegativeInteger>,
    pub config: Option<bool>,
    pub debug: Option<bool>,
    pub restart: Option<bool>,
    pub use_access_groups: Option<bool>,
    pub owner_allow_from: Option<Vec<TextOrNumber>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChannelCommands {
    pub native: Option<NativeCommands>,
    pub native_skills: Option<NativeCommands>,
}

/// Whether a platform's command menu is filled: yes, no, or where the platform has one.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum NativeCommands {
    Switch(bool),
    Auto(Auto),
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum Auto {
    Auto,
}
