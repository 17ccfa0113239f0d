//! How often a request to a platform is repeated.

use schemars::JsonSchema;

use crate::sections::number::{Fraction, IntegerFromOne, NonNegativeInteger};

/// How often a request is repeated.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retry {
    /// How often it is tried.
    pub attempts: Option<IntegerFromOne>,
    pub min_delay_ms: Option<NonNegativeInteger>,
    pub max_delay_ms: Option<NonNegativeInteger>,
    /// How much of the wait is left to chance.
    pub jitter: Option<Fraction>,
}
