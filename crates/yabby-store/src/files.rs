//! The stores of one machine: `sessions.json` with its journal, transcripts, and the steps of turns.

pub(crate) mod atomic;
pub(crate) mod folder;
pub(crate) mod keeping;
pub(crate) mod lock_file;
pub mod sessions;
pub mod transcripts;
pub mod turns;
