//! The stores of one machine: `sessions.json` with its journal, and transcripts.

mod atomic;
mod folder;
mod keeping;
mod lock_file;
pub mod sessions;
pub mod transcripts;
