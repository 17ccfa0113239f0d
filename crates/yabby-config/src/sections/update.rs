//! `update`: new versions.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;

/// New versions.
#[section]
pub struct Update {
    /// Which versions are offered.
    pub channel: Option<UpdateChannel>,
    pub check_on_start: Option<bool>,
}

/// A line of releases.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum UpdateChannel {
    Stable,
    Beta,
    Dev,
}
