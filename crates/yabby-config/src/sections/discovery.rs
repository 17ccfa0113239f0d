//! MISSING discovery

use schemars::JsonSchema;

use crate::sections::switch::Switch;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Discovery {
    pub wide_area: Option<Switch>,
    pub mdns: Option<Mdns>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mdns {
    pub mode: Option<MdnsMode>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MdnsMode {
    Off,
    Minimal,
    Full,
}
