//! One file a command.

pub mod agent;
pub mod agents;
pub mod approvals;
pub mod completion;
pub mod config;
pub mod doctor;
pub mod gateway;
pub mod history;
pub mod import;
pub mod mcp;
pub mod memory;
pub mod models;
pub mod sessions;
pub mod setup;
pub mod skills;
pub mod turns;
pub mod usage;
