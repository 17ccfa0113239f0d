//! MISSING bindings

use schemars::JsonSchema;

use crate::sections::literal::as_literals;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Binding {
    pub agent_id: String,
    pub r#match: BindingMatch,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BindingMatch {
    pub channel: String,
    pub account_id: Option<String>,
    pub peer: Option<BindingPeer>,
    pub guild_id: Option<String>,
    pub team_id: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BindingPeer {
    pub kind: PeerKind,
    pub id: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum PeerKind {
    Dm,
    Group,
    Channel,
}
