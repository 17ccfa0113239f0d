//! The binary, from outside.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agent;
mod agents;
mod approvals;
mod config;
mod discretion;
mod docs;
mod doctor;
mod exec;
mod export;
mod first_use;
mod gateway;
mod help;
mod history;
mod home;
mod import;
mod mcp;
mod memory;
mod models;
mod on_disk;
mod real_claude;
mod seed_answers;
mod seed_sessions;
mod sessions;
mod setup;
mod skills;
mod sync;
mod terminal;
mod torture;
mod turns;
mod usage;
mod vectors;
