//! Stories about state on a disk.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod config_file;
mod contract;
mod doctor;
mod import;
mod ledger;
mod paths;
mod session_faults;
mod session_races;
mod sessions;
mod shelf;
mod transcript_faults;
mod transcripts;
mod turn_faults;
mod turns;
mod watched_disk;
