//! MISSING approvals

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::text::{NonEmptyText, TextOrNumber};

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Approvals {
    pub exec: Option<ExecApprovals>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecApprovals {
    pub enabled: Option<bool>,
    pub mode: Option<ApprovalMode>,
    pub agent_filter: Option<Vec<String>>,
    pub session_filter: Option<Vec<String>>,
    pub targets: Option<Vec<ApprovalTarget>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalTarget {
    pub channel: NonEmptyText,
    pub to: NonEmptyText,
    pub account_id: Option<String>,
    pub thread_id: Option<TextOrNumber>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ApprovalMode {
    Session,
    Targets,
    Both,
}
