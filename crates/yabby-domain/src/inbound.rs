//! What a channel heard: the message and everything known about where it came from
//! (`sessions.md` §3, §9, §11).

pub mod media;

use std::fmt;

use crate::config::Config;
use crate::json::{self, Value};
use crate::text;

use media::Attachment;

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
            Self::Number(n) => json::number(*n),
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

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => f.write_str(&json::number_text(*n)),
            Self::Text(s) => f.write_str(s),
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
    pub media: Vec<Attachment>,

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

impl InboundMessage {
    /// The key under which a repeated delivery of the same message is recognised: provider, account,
    /// session, peer, thread and message id, as far as they are known. `None` where nothing tells the
    /// message apart from others.
    pub fn dedupe_key(&self) -> Option<String> {
        let trimmed = |field: &Option<String>| field.as_deref().map_or("", text::trim).to_owned();
        let channel = first([&self.originating_channel, &self.provider, &self.surface])?;
        let provider = text::lower_non_blank(channel)?;
        let message_id = self.message_id.as_deref().and_then(text::non_blank)?;
        let peer = first([&self.originating_to, &self.to, &self.from, &self.session_key])?;
        if peer.is_empty() {
            return None;
        }
        let parts = [
            provider,
            trimmed(&self.account_id),
            trimmed(&self.session_key),
            peer.to_owned(),
            self.message_thread_id.as_ref().map_or_else(String::new, ThreadId::to_string),
            message_id.to_owned(),
        ];
        Some(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("|"))
    }
}

/// The first field that was given at all, blank or not.
fn first<const N: usize>(fields: [&Option<String>; N]) -> Option<&str> {
    fields.into_iter().flatten().next().map(String::as_str)
}

/// How long to wait for more messages of the same sender before a turn begins, in milliseconds: the
/// channel's own wish, what is configured for the channel, what is configured for all, nothing.
pub fn debounce_ms(config: &Config, channel: &str, wish: Option<f64>) -> u64 {
    let for_channel = || config.number(&["messages", "inbound", "byChannel", channel]);
    let for_all = || config.number(&["messages", "inbound", "debounceMs"]);
    // The cast drops the fraction and lifts what is below zero to zero.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    wish.filter(|ms| ms.is_finite()).or_else(for_channel).or_else(for_all).map_or(0, |ms| ms as u64)
}
