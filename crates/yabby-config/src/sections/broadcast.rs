//! MISSING broadcast

use schemars::JsonSchema;

use crate::sections::map::Map;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Broadcast {
    pub strategy: Option<BroadcastStrategy>,
    #[serde(flatten)]
    pub others: Map<Vec<String>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BroadcastStrategy {
    Parallel,
    Sequential,
}
