//! Something that is only on or off.

use yabby_config_derive::section;

/// Something that is only on or off.
#[section]
pub struct Switch {
    pub enabled: Option<bool>,
}
