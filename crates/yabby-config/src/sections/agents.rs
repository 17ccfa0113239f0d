//! `agents`: what holds for all agents, and each of them.

pub mod cli_backend;
pub mod compaction;
pub mod defaults;
pub mod entry;
pub mod heartbeat;
pub mod memory_search;
pub mod model_choice;
pub mod pruning;
pub mod sandbox;
pub mod streaming;

use yabby_config_derive::section;

use crate::sections::agents::defaults::AgentDefaults;
use crate::sections::agents::entry::AgentEntry;

/// What holds for all agents, and each of them.
#[section(parts)]
pub struct Agents {
    /// What holds for every agent that does not say otherwise.
    #[config(closed)]
    #[serde(default)]
    pub defaults: AgentDefaults,
    /// The agents; without any there is `main`.
    #[serde(default)]
    pub list: Vec<AgentEntry>,
}
