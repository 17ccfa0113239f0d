//! yabby's types and rules: values in, values out.
//!
//! Nothing here waits, reads a clock, or touches a file or a socket; `now`, time zones and fresh ids
//! are arguments. Each file is one rule or one idea and says at its top which section of the
//! specification it is.

pub mod access;
pub mod agent;
pub mod auth;
pub mod body;
pub mod bootstrap;
pub mod budget;
pub mod channel;
pub mod collation;
pub mod command;
pub mod compaction;
pub mod delivery;
pub mod device;
pub mod directive;
pub mod envelope;
pub mod flush;
pub mod heartbeat;
pub mod history;
pub mod history_limit;
pub mod inbound;
pub mod key;
pub mod leash;
pub mod ledger;
pub mod mention;
pub mod message;
pub mod message_stamp;
pub mod model;
pub mod node;
pub mod path;
pub mod pattern;
pub mod prepared;
pub mod principal;
pub mod provider_rules;
pub mod pruning;
pub mod queue;
pub mod recollection;
pub mod record;
pub mod repair;
pub mod reply;
pub mod route;
pub mod sanitize;
pub mod seam;
pub mod secrets;
pub mod sender;
pub mod session;
pub mod skills;
pub mod status;
pub mod system_events;
pub mod thinking_tags;
pub mod time;
pub mod transcript;
pub mod turn;
mod unique;
pub mod untrusted;
pub mod usage;
pub mod zone;

pub use yabby_base::{duration, id, json, text};

/// The configuration, and its sections by the names of their keys.
pub mod config {
    pub use yabby_config::config::Config;
    pub use yabby_config::sections::*;
}
