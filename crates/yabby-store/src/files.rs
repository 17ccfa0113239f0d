//! The stores of one machine: `sessions.json` with its journal, and transcripts.

mod atomic;
mod folder;
pub mod sessions;
pub mod transcripts;
