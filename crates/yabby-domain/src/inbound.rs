//! What a channel heard: the message and everything known about where it came from
//! (`sessions.md` §3, §9, §11).

pub mod conversation_label;
pub mod media;
pub mod recent;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::body::{self, EscapedNewlines};
use crate::channel::{ChatType, core_channel};
use crate::config::Config;
use crate::json::{self, Value};
use crate::sender::{Sender, with_sender_line};
use crate::text;
use conversation_label::conversation_label;

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

impl Serialize for ThreadId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ThreadId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_value(&value).ok_or_else(|| de::Error::custom("neither a number nor a text"))
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct InboundMessage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_for_agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_for_commands: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_stripped: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_starter_body: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untrusted_context: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Attachment>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surface: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub originating_channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub originating_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_thread_id: Option<ThreadId>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_target_session_key: Option<String>,
    pub command_authorized: bool,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_space: Option<String>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_username: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_tag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_e164: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_id: Option<String>,
}

/// Bodies that a channel gave and that are derived anew all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rederive {
    pub body_for_agent: bool,
    pub body_for_commands: bool,
}

impl InboundMessage {
    /// The message as every later step expects it: line feeds only, the chat type by its usual name,
    /// each body variant filled in, a conversation label, and the sender's name in group bodies.
    pub fn finalize(mut self, rederive: Rederive, escaped: EscapedNewlines) -> Self {
        let normalized = |field: Option<String>| field.map(|text| body::normalize_newlines(&text, escaped));
        self.raw_body = normalized(self.raw_body);
        self.command_body = normalized(self.command_body);
        self.transcript = normalized(self.transcript);
        self.thread_starter_body = normalized(self.thread_starter_body);
        self.untrusted_context = self
            .untrusted_context
            .iter()
            .map(|entry| body::normalize_newlines(entry, escaped))
            .filter(|entry| !entry.is_empty())
            .collect();

        let chat_type = self.chat_type.as_deref().and_then(ChatType::parse);
        if let Some(known) = chat_type {
            self.chat_type = Some(known.as_str().to_owned());
        }
        let body = normalized(self.body.take()).unwrap_or_default();
        let given = |field: Option<String>, rederive: bool| normalized(field).filter(|_| !rederive);
        let for_agent = given(self.body_for_agent.take(), rederive.body_for_agent);
        let for_commands = given(self.body_for_commands.take(), rederive.body_for_commands)
            .or_else(|| self.command_body.clone())
            .or_else(|| self.raw_body.clone());
        // Commands are read without the sender's line, so they branch off before it is added.
        self.body_for_commands = Some(for_commands.unwrap_or_else(|| body.clone()));
        self.conversation_label = conversation_label(&self).or(self.conversation_label);

        let (body, for_agent) = (self.signed(&body), self.signed(for_agent.as_ref().unwrap_or(&body)));
        self.body = Some(body);
        self.body_for_agent = Some(for_agent);
        self
    }

    /// Puts every name that people chose for themselves or for a group on one line, not too long: names stand among the
    /// words of others and of the program.
    pub fn put_names_on_one_line(&mut self) {
        const LONGEST: usize = 200;
        let names = [
            &mut self.conversation_label,
            &mut self.thread_label,
            &mut self.group_subject,
            &mut self.group_channel,
            &mut self.group_space,
            &mut self.sender_name,
            &mut self.sender_username,
            &mut self.sender_tag,
            &mut self.sender_e164,
            &mut self.sender_id,
        ];
        let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        for name in names.into_iter().flatten() {
            if name.contains(breaks) || name.chars().count() > LONGEST {
                *name = name.replace(breaks, " ").chars().take(LONGEST).collect();
            }
        }
    }

    /// Whether this message is read as the reference reads those of its chat platforms. What is typed, piped or sent
    /// to the gateway comes from none of them.
    pub fn escaped_newlines(&self) -> EscapedNewlines {
        match self.provider.as_deref().and_then(core_channel) {
            Some(_) => EscapedNewlines::Unescape,
            None => EscapedNewlines::Keep,
        }
    }

    /// A body of this message with the line that says who wrote it, where one is due.
    pub fn signed(&self, body: &str) -> String {
        with_sender_line(body, self.chat_type.as_deref().and_then(ChatType::parse), &self.sender())
    }

    pub fn sender(&self) -> Sender<'_> {
        Sender {
            name: self.sender_name.as_deref(),
            username: self.sender_username.as_deref(),
            tag: self.sender_tag.as_deref(),
            e164: self.sender_e164.as_deref(),
            id: self.sender_id.as_deref(),
        }
    }

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
    let inbound = &config.messages.inbound;
    let for_channel = || Some(f64::from(*inbound.by_channel.as_ref()?.get(channel)?));
    // The cast drops the fraction and lifts what is below zero to zero.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let whole = |ms: f64| ms as u64;
    whole(wish.filter(|ms| ms.is_finite()).or_else(for_channel).unwrap_or_else(|| inbound.debounce_ms()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn finalizing_fills_in_every_body() {
        let message = InboundMessage {
            body: some("hi\r\nall"),
            raw_body: some("raw\\n"),
            chat_type: some("GROUP"),
            sender_name: some("Al"),
            from: some("telegram:group:5"),
            ..InboundMessage::default()
        };
        let finalized = message.finalize(Rederive::default(), EscapedNewlines::Unescape);
        assert_eq!(finalized.body, some("hi\nall\n[from: Al]"));
        assert_eq!(finalized.body_for_agent, finalized.body);
        assert_eq!(finalized.body_for_commands, some("raw\n"));
        assert_eq!(finalized.chat_type, some("group"));
        assert_eq!(finalized.conversation_label, some("telegram:group:5"));
        assert_eq!(finalized.clone().finalize(Rederive::default(), EscapedNewlines::Unescape), finalized);
    }

    #[test]
    fn a_channel_may_ask_for_bodies_to_be_derived_anew() {
        let message = InboundMessage {
            body: some("b"),
            body_for_agent: some("a"),
            body_for_commands: some("c"),
            ..InboundMessage::default()
        };
        let anew = message
            .finalize(Rederive { body_for_agent: true, body_for_commands: true }, EscapedNewlines::Keep);
        assert_eq!((anew.body_for_agent, anew.body_for_commands), (some("b"), some("b")));
    }

    #[test]
    fn a_repeated_delivery_has_the_same_key() {
        let message = InboundMessage {
            provider: some(" Telegram "),
            message_id: some(" 9 "),
            to: some("5"),
            message_thread_id: Some(ThreadId::Number(7.0)),
            ..InboundMessage::default()
        };
        assert_eq!(message.dedupe_key(), some("telegram|5|7|9"));
        assert_eq!(InboundMessage { to: None, ..message }.dedupe_key(), None);
    }

    #[test]
    fn the_channel_decides_how_long_to_wait() {
        let config = Config::new(
            json::parse(r#"{"messages":{"inbound":{"debounceMs":500.9,"byChannel":{"telegram":-4}}}}"#)
                .unwrap(),
        );
        let table = [
            ("slack", None, 500),
            ("telegram", None, 0),
            ("slack", Some(7.5), 7),
            ("slack", Some(f64::NAN), 500),
        ];
        for (channel, wish, ms) in table {
            assert_eq!(debounce_ms(&config, channel, wish), ms, "{channel} {wish:?}");
        }
    }
}
