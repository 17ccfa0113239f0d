//! The stores of one machine: `sessions.json` with its journal, transcripts, the steps of turns, and what they
//! cost.

pub(crate) mod atomic;
pub mod auth_profiles;
pub(crate) mod folder;
pub(crate) mod keeping;
pub mod ledger;
pub(crate) mod lock_file;
pub mod sessions;
pub mod shelf;
pub mod transcripts;
pub mod turns;
