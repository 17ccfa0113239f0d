//! `approvals`: where questions for approval are sent.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::text::{NonEmptyText, TextOrNumber};

/// Where questions for approval are sent.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Approvals {
    pub exec: Option<ExecApprovals>,
}

/// Questions about commands.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecApprovals {
    /// Whether they are sent on. Default: false.
    pub enabled: Option<bool>,
    /// To whom they are sent: the session, the targets, or both.
    pub mode: Option<ApprovalMode>,
    /// Only of these agents.
    pub agent_filter: Option<Vec<String>>,
    /// Only of sessions whose key holds one of these.
    pub session_filter: Option<Vec<String>>,
    /// Where else they are sent.
    pub targets: Option<Vec<ApprovalTarget>>,
}

/// A chat that is asked.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalTarget {
    pub channel: NonEmptyText,
    pub to: NonEmptyText,
    pub account_id: Option<String>,
    pub thread_id: Option<TextOrNumber>,
}

/// To whom questions are sent.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ApprovalMode {
    Session,
    Targets,
    Both,
}
