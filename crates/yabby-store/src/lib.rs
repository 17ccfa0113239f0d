//! Where state is kept: plain files, in the layout that OpenClaw uses.
//!
//! [`disk`] is the one way to the file system for everything that must not be lost; [`files`] holds the
//! stores. What may be written, and when, is decided by the rules in `yabby-domain`.

pub mod clock;
pub mod config_file;
pub mod disk;
pub mod doctor;
mod file_state;
pub mod files;
pub mod import;
pub mod paths;
mod process;
pub mod state_disk;
