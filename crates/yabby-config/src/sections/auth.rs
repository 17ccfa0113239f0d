//! MISSING auth

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::PositiveNumber;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Auth {
    pub profiles: Option<Map<AuthProfile>>,
    pub order: Option<Map<Vec<String>>>,
    pub cooldowns: Option<AuthCooldowns>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuthProfile {
    pub provider: String,
    pub mode: AuthMode,
    pub email: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuthCooldowns {
    pub billing_backoff_hours: Option<PositiveNumber>,
    pub billing_backoff_hours_by_provider: Option<Map<PositiveNumber>>,
    pub billing_max_hours: Option<PositiveNumber>,
    pub failure_window_hours: Option<PositiveNumber>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = as_literals)]
pub enum AuthMode {
    ApiKey,
    Oauth,
    Token,
}
