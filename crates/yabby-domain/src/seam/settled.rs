//! Messages of a request that will not change any more while their conversation goes on (`transcripts.md` §8).
//!
//! They are prepared once and kept as text, together with the text that was last sent for them, so that the cost of
//! a request does not grow with what was said long ago.

use std::sync::{Arc, Mutex, PoisonError};

use crate::compaction::tokens::estimate_all;
use crate::json::Value;
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

impl SentText {
    /// The text of several parts, if all were last sent in one format.
    fn joined(parts: impl Iterator<Item = Option<Self>>) -> Option<Self> {
        let parts: Vec<Self> = parts.collect::<Option<_>>()?;
        let format = parts.first()?.format.clone();
        let is_same = parts.iter().all(|part| part.format == format);
        let texts: Vec<&str> = parts.iter().map(|part| &*part.text).filter(|text| !text.is_empty()).collect();
        is_same.then(|| Self { format, text: texts.join(",").into() })
    }
}

impl SettledMessages {
    pub fn new(messages: &[Message]) -> Self {
        let text: Vec<String> =
            messages.iter().map(|message| message.clone().into_value().to_string()).collect();
        Self { text: format!("[{}]", text.join(",")), tokens: estimate_all(messages), sent: Mutex::default() }
    }

    /// The messages of several parts, one after the other.
    pub fn joined(parts: &[Arc<Self>]) -> Self {
        let inside = |part: &Arc<Self>| part.text[1..part.text.len() - 1].to_owned();
        let text: Vec<String> = parts.iter().map(inside).filter(|text| !text.is_empty()).collect();
        let tokens = parts.iter().map(|part| part.tokens).sum();
        let sent = SentText::joined(parts.iter().map(|part| part.sent()));
        Self { text: format!("[{}]", text.join(",")), tokens, sent: Mutex::new(sent) }
    }

    fn sent(&self) -> Option<SentText> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn messages(&self) -> Vec<Message> {
        let values: Vec<Value> = serde_json::from_str(&self.text).unwrap_or_default();
        values.into_iter().filter_map(Message::from_value).collect()
    }

    /// About how many tokens they take.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// About how many bytes of memory they take.
    pub fn bytes(&self) -> usize {
        self.text.len() + self.sent().map_or(0, |sent| sent.text.len())
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
