//! How often a request to a platform is repeated.

use yabby_config_derive::section;

use crate::sections::number::{Fraction, IntegerFromOne, NonNegativeInteger};

/// How often a request is repeated.
#[section]
pub struct Retry {
    /// How often it is tried.
    pub attempts: Option<IntegerFromOne>,
    pub min_delay_ms: Option<NonNegativeInteger>,
    pub max_delay_ms: Option<NonNegativeInteger>,
    /// How much of the wait is left to chance.
    pub jitter: Option<Fraction>,
}
