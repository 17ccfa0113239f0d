//! What a channel heard: the message and everything known about where it came from
//! (`sessions.md` §3, §9, §11).

use crate::json::Value;

/// A thread id is a number on some platforms and text on others; both go to disk as they came.
#[derive(Clone, Debug, PartialEq)]
pub enum ThreadId {
    Number(f64),
    Text(String),
}

impl ThreadId {
    /// A number or a string; anything else is no thread id.
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(n) => n.as_f64().map(Self::Number),
            Value::String(s) => Some(Self::Text(s.clone())),
            _ => None,
        }
    }

    pub fn to_value(&self) -> Value {
        match self {
            Self::Number(n) => crate::json::number(*n),
            Self::Text(s) => Value::String(s.clone()),
        }
    }

    /// As an `if` in the reference sees it: 0 and the empty string are no thread.
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Number(n) => *n != 0.0 && !n.is_nan(),
            Self::Text(s) => !s.is_empty(),
        }
    }
}

/// The reference calls this the message context. A field is `None` where the channel said nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InboundMessage {
    pub body: Option<String>,
    pub raw_body: Option<String>,
    pub command_body: Option<String>,
    pub body_for_agent: Option<String>,
    pub body_for_commands: Option<String>,
    pub body_stripped: Option<String>,
    pub transcript: Option<String>,
    pub thread_starter_body: Option<String>,
    pub untrusted_context: Vec<String>,

    pub from: Option<String>,
    pub to: Option<String>,
    pub provider: Option<String>,
    pub surface: Option<String>,
    pub account_id: Option<String>,
    pub chat_type: Option<String>,
    pub originating_channel: Option<String>,
    pub originating_to: Option<String>,
    pub message_id: Option<String>,
    pub message_thread_id: Option<ThreadId>,

    pub session_key: Option<String>,
    pub parent_session_key: Option<String>,
    pub command_source: Option<String>,
    pub command_target_session_key: Option<String>,
    pub command_authorized: bool,

    pub conversation_label: Option<String>,
    pub thread_label: Option<String>,
    pub group_subject: Option<String>,
    pub group_channel: Option<String>,
    pub group_space: Option<String>,

    pub sender_name: Option<String>,
    pub sender_username: Option<String>,
    pub sender_tag: Option<String>,
    pub sender_e164: Option<String>,
    pub sender_id: Option<String>,
}
