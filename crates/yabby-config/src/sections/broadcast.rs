//! `broadcast`: several agents for one peer.

use yabby_config_derive::section;

use crate::sections::map::Map;

/// Several agents for one peer. Every other key is a peer, its value the agents.
#[section(open)]
pub struct Broadcast {
    /// All at once or one after another.
    #[config(default = Parallel)]
    pub strategy: Option<BroadcastStrategy>,
    #[serde(flatten)]
    pub others: Map<Vec<String>>,
}

/// All at once or one after another.
#[section]
#[serde(rename_all = "lowercase")]
pub enum BroadcastStrategy {
    Parallel,
    Sequential,
}
