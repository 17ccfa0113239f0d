//! `media`: files that come in.

use yabby_config_derive::section;

/// Files that come in.
#[section]
pub struct Media {
    /// Whether files keep their names.
    pub preserve_filenames: Option<bool>,
}
