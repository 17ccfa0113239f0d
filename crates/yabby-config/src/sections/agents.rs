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

use crate::sections::agents::defaults::AgentDefaults;
use crate::sections::agents::entry::AgentEntry;

sections! {
    /// What holds for all agents, and each of them.
    #[serde(deny_unknown_fields)]
    pub struct Agents {
        /// What holds for every agent that does not say otherwise.
        "defaults" => defaults: AgentDefaults {closed},
        /// The agents; without any there is `main`.
        "list" => list: Vec<AgentEntry>,
    }
}
