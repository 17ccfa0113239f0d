//! The gateway over its real protocol, with an engine in memory.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod approvals;
mod client;
mod config;
mod entrance;
mod pictures;
mod remembering;
mod runs;
mod sessions;
