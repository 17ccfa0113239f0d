//! One file a command.

pub mod config;
pub mod doctor;
pub mod history;
pub mod import;
