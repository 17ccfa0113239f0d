//! MISSING channels/retry

use schemars::JsonSchema;

use crate::sections::number::{Fraction, IntegerFromOne, NonNegativeInteger};

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retry {
    pub attempts: Option<IntegerFromOne>,
    pub min_delay_ms: Option<NonNegativeInteger>,
    pub max_delay_ms: Option<NonNegativeInteger>,
    pub jitter: Option<Fraction>,
}
