//! MISSING session/send_policy

use schemars::JsonSchema;

use crate::sections::literal::as_literals;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendPolicy {
    pub default: Option<SendAction>,
    pub rules: Option<Vec<SendRule>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendRule {
    pub action: SendAction,
    pub r#match: Option<SendMatch>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendMatch {
    pub channel: Option<String>,
    pub chat_type: Option<ChatType>,
    pub key_prefix: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum SendAction {
    Allow,
    Deny,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ChatType {
    Direct,
    Group,
    Channel,
}
