//! Messages of a request that will not change any more while their conversation goes on.
//!
//! They are prepared once and kept as text, together with the text that was last sent for them, so that the cost of
//! a request does not grow with what was said long ago.

use std::sync::{Arc, Mutex, PoisonError};

use crate::compaction::tokens::estimate_all;
use crate::json::{self, Value};
use crate::message::Message;

/// A part of a conversation that begins with a user message and ends with an answer that calls no tools. All of its
/// messages are acceptable to the recipient of the request (see [`crate::provider_rules`]).
#[derive(Debug)]
pub struct SettledMessages {
    /// A JSON array.
    text: String,
    tokens: u64,
    /// The text last sent for these messages. Shared, since several requests may hold them.
    sent: Mutex<Option<SentText>>,
}

#[derive(Clone, Debug)]
struct SentText {
    format: String,
    text: Arc<str>,
}

impl SettledMessages {
    pub fn new(messages: Vec<Message>) -> Self {
        let tokens = estimate_all(&messages);
        let values = messages.into_iter().map(Message::into_value).collect();
        Self { text: json::stringify(&Value::Array(values)), tokens, sent: Mutex::default() }
    }

    pub fn messages(&self) -> Vec<Message> {
        match json::parse(&self.text) {
            Ok(Value::Array(values)) => values.into_iter().filter_map(Message::from_value).collect(),
            _ => Vec::new(),
        }
    }

    /// About how many tokens they take.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// About how many bytes of memory they take.
    pub fn bytes(&self) -> usize {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        self.text.len() + sent.as_ref().map_or(0, |sent| sent.text.len())
    }

    /// The text that is sent for these messages in a wire format, written once. `format` names everything that the
    /// text depends on besides the messages.
    pub fn sent_as(&self, format: &str, write: impl FnOnce(&[Message]) -> String) -> Arc<str> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sent) = sent.as_ref().filter(|sent| sent.format == format) {
            return sent.text.clone();
        }
        let text: Arc<str> = write(&self.messages()).into();
        *sent = Some(SentText { format: format.to_owned(), text: text.clone() });
        text
    }
}

impl PartialEq for SettledMessages {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
