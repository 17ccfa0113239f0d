//! The gateway over its real protocol, with an engine in memory.

mod approvals;
mod client;
mod config;
mod remembering;
mod sessions;
