//! One line of a transcript (`transcripts.md` §1).
//!
//! An entry keeps the text of its line; what we did not write goes back byte for byte. A small head
//! (kind, id, parent, time, and what the context builder asks of a message) is read at once, the rest
//! is parsed when somebody needs it, so that a long transcript stays cheap to open.

use std::sync::Arc;

use crate::json::{self, Object, Value};
use crate::message::{Message, Role};

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    line: Arc<str>,
    object: Object,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A header line; only the first of a file counts.
    Session,
    Message,
    ThinkingLevelChange,
    ModelChange,
    Compaction,
    BranchSummary,
    Custom,
    CustomMessage,
    Label,
    SessionInfo,
    /// Kept, and part of the parent chain.
    Unknown,
}

impl Entry {
    /// The entry on `line`, if it holds a JSON object.
    pub fn parse(line: &str) -> Option<Self> {
        match json::parse(line).ok()? {
            Value::Object(object) => Some(Self { line: line.into(), object }),
            _ => None,
        }
    }

    pub fn from_object(object: Object) -> Self {
        Self { line: json::stringify_object(&object).into(), object }
    }

    /// The text of the line, as it is on disk.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The whole entry, parsed.
    pub fn object(&self) -> Object {
        self.object.clone()
    }

    pub fn kind(&self) -> EntryKind {
        match self.object.get("type").and_then(Value::as_str) {
            Some("session") => EntryKind::Session,
            Some("message") => EntryKind::Message,
            Some("thinking_level_change") => EntryKind::ThinkingLevelChange,
            Some("model_change") => EntryKind::ModelChange,
            Some("compaction") => EntryKind::Compaction,
            Some("branch_summary") => EntryKind::BranchSummary,
            Some("custom") => EntryKind::Custom,
            Some("custom_message") => EntryKind::CustomMessage,
            Some("label") => EntryKind::Label,
            Some("session_info") => EntryKind::SessionInfo,
            _ => EntryKind::Unknown,
        }
    }

    pub fn id(&self) -> Option<&str> {
        self.object.get("id")?.as_str()
    }

    pub fn parent_id(&self) -> Option<&str> {
        self.object.get("parentId")?.as_str()
    }

    /// The role of a message entry.
    pub fn role(&self) -> Option<Role> {
        let message = self.object.get("message")?.as_object()?;
        Some(message.get("role").and_then(Value::as_str).map_or(Role::Other, Role::from_text))
    }

    /// The message of a message entry.
    pub fn message(&self) -> Option<Message> {
        Message::from_value(self.object.get("message")?.clone())
    }
}
