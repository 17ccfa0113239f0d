//! Messages that were accepted and never answered: the session was stopped, reset or deleted while they waited, or
//! they gave way in a full queue (`sessions.md` §18). A `custom` entry keeps their words; no model is shown it.

use serde::{Deserialize, Serialize};

use super::entry::{Entry, EntryKind};
use super::tree::NewEntry;
use crate::json::{Object, Value};
use crate::message::Message;
use crate::turn::TurnId;

/// The `customType` of the entry.
pub const CUSTOM_TYPE: &str = "yabby:not-answered";

/// Why a message was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NotAnsweredReason {
    /// The session was stopped, reset or deleted.
    Stopped,
    /// The queue of the session was full.
    QueueFull,
}

impl NotAnsweredReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::QueueFull => "queueFull",
        }
    }

    /// What the sender is told.
    pub fn notice(self) -> &'static str {
        match self {
            Self::Stopped => "Not answered: the session was stopped while this message was waiting.",
            Self::QueueFull => "Not answered: too many messages were waiting in this session.",
        }
    }
}

/// The entry that keeps a message.
pub fn entry(turn: &TurnId, message: &Message, reason: NotAnsweredReason) -> NewEntry {
    let data = Object::from_iter([
        ("turn".to_owned(), turn.as_str().into()),
        ("reason".to_owned(), reason.as_str().into()),
        ("message".to_owned(), Value::Object(message.as_object().clone())),
    ]);
    NewEntry::Custom { custom_type: CUSTOM_TYPE.to_owned(), data: Some(Value::Object(data)) }
}

/// The turn and the message that an entry keeps, if it is such an entry.
pub fn read(entry: &Entry) -> Option<(TurnId, Message, NotAnsweredReason)> {
    let object = entry.object();
    let is_it = entry.kind() == EntryKind::Custom
        && object.get("customType").and_then(Value::as_str) == Some(CUSTOM_TYPE);
    let data = object.get("data").filter(|_| is_it)?;
    let reason = serde_json::from_value(data.get("reason")?.clone()).ok()?;
    let message = Message::new(data.get("message")?.as_object()?.clone());
    Some((TurnId::new(data.get("turn")?.as_str()?), message, reason))
}
