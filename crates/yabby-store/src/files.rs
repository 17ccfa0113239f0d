//! The stores of one machine: `sessions.json` with its journal, transcripts, the steps of turns, what they
//! cost, keys, and which programs may run.

pub mod atomic;
pub mod auth_profiles;
pub mod channel_pairing;
pub mod devices;
pub mod exec_approvals;
pub(crate) mod folder;
pub mod gateway_lock;
pub(crate) mod keeping;
pub mod ledger;
pub(crate) mod lock_file;
pub(crate) mod lock_folder;
pub mod nodes;
mod pairing;
pub mod sessions;
pub mod shelf;
pub mod transcripts;
pub mod turns;
pub mod workspace_file;
