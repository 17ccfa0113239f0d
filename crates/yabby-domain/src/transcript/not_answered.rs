//! Messages that were accepted and never answered: the session was stopped, reset or deleted while they waited, or
//! they gave way in a full queue (`sessions.md` §18). A `custom` entry keeps their words; no model is shown it.

use super::entry::{Entry, EntryKind};
use super::tree::NewEntry;
use crate::json::{Object, Value};
use crate::message::Message;
pub use crate::turn::NotAnsweredReason;
use crate::turn::TurnId;

/// The `customType` of the entry.
pub const CUSTOM_TYPE: &str = "yabby:not-answered";

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
