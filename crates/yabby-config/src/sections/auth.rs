//! `auth`: which credentials are used in which order. The secrets are elsewhere.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::PositiveNumber;

/// Which credentials are used in which order.
#[section]
pub struct Auth {
    /// What kind of credential each profile holds; the secrets are in `auth-profiles.json`.
    pub profiles: Option<Map<AuthProfile>>,
    /// Which profiles are tried first, by provider.
    pub order: Option<Map<Vec<String>>>,
    /// How long a profile rests after a failure.
    #[serde(default)]
    pub cooldowns: AuthCooldowns,
}

/// What kind of credential a profile holds.
#[section]
pub struct AuthProfile {
    /// Whose credential it is.
    pub provider: String,
    /// What kind it is.
    pub mode: AuthMode,
    /// Whose account it is.
    pub email: Option<String>,
}

/// How long a profile rests after a failure.
#[section]
pub struct AuthCooldowns {
    /// The rest after trouble with billing; doubled each time.
    #[config(default = 5)]
    pub billing_backoff_hours: Option<PositiveNumber>,
    /// The same by provider.
    pub billing_backoff_hours_by_provider: Option<Map<PositiveNumber>>,
    /// The longest rest.
    #[config(default = 24)]
    pub billing_max_hours: Option<PositiveNumber>,
    /// How long failures are remembered.
    #[config(default = 24)]
    pub failure_window_hours: Option<PositiveNumber>,
}

/// A kind of credential.
#[section]
#[serde(rename_all = "snake_case")]
#[schemars(transform = as_literals)]
pub enum AuthMode {
    ApiKey,
    Oauth,
    Token,
}
