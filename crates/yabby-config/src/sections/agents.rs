//! MISSING agents

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

use schemars::JsonSchema;

use crate::sections::agents::defaults::AgentDefaults;
use crate::sections::agents::entry::AgentEntry;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Agents {
    pub defaults: Option<AgentDefaults>,
    pub list: Option<Vec<AgentEntry>>,
}
