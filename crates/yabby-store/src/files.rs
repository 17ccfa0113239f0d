//! The stores of one machine: `sessions.json` with its journal, and transcripts.

pub mod atomic;
pub mod folder;
