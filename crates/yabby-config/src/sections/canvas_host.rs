//! `canvasHost`: pages that agents show on nodes.

use yabby_config_derive::section;

use crate::sections::number::PositiveInteger;

/// Pages that agents show on nodes.
#[section]
pub struct CanvasHost {
    pub enabled: Option<bool>,
    pub root: Option<String>,
    pub port: Option<PositiveInteger>,
    pub live_reload: Option<bool>,
}
