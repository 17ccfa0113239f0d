//! `broadcast`: several agents for one peer.

use schemars::JsonSchema;

use crate::sections::map::Map;

/// Several agents for one peer. Every other key is a peer, its value the agents.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Broadcast {
    /// All at once or one after another. Default: parallel.
    pub strategy: Option<BroadcastStrategy>,
    #[serde(flatten)]
    pub others: Map<Vec<String>>,
}

/// All at once or one after another.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BroadcastStrategy {
    Parallel,
    Sequential,
}
