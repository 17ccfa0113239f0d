//! `approvals`: where questions for approval are sent.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::text::{NonEmptyText, TextOrNumber};

/// Where questions for approval are sent.
#[section]
pub struct Approvals {
    #[serde(default)]
    pub exec: ExecApprovals,
}

/// Questions about commands.
#[section]
pub struct ExecApprovals {
    /// Whether they are sent on.
    #[config(default = false)]
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
#[section]
pub struct ApprovalTarget {
    pub channel: NonEmptyText,
    pub to: NonEmptyText,
    pub account_id: Option<String>,
    pub thread_id: Option<TextOrNumber>,
}

/// To whom questions are sent.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ApprovalMode {
    Session,
    Targets,
    Both,
}
