//! A message as the transcript stores it and the model sees it (`transcripts.md` §1.3).
//!
//! Holds the object it was read from: providers put fields of their own into messages (signatures,
//! cache markers) and they must come back untouched, so role and content are views, not the storage.

use crate::json::{Object, Value};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message(Object);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
    ToolResult,
    BashExecution,
    Custom,
    BranchSummary,
    CompactionSummary,
    /// A role this release does not know, or none.
    Other,
}

/// The `content` of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content<'m> {
    Text(&'m str),
    Blocks(&'m [Value]),
    /// Absent, or neither text nor a list.
    Missing,
}

/// One block of a content list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Block<'m> {
    Text(&'m str),
    Thinking { text: &'m str, signature: Option<&'m str> },
    ToolCall(ToolCall<'m>),
    Image,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToolCall<'m> {
    pub id: Option<&'m str>,
    pub name: Option<&'m str>,
    pub arguments: Option<&'m Value>,
}

impl Message {
    pub fn new(object: Object) -> Self {
        Self(object)
    }

    /// The message in `value`, if it is an object.
    pub fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Object(object) => Some(Self(object)),
            _ => None,
        }
    }

    pub fn as_object(&self) -> &Object {
        &self.0
    }

    pub fn as_object_mut(&mut self) -> &mut Object {
        &mut self.0
    }

    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    pub fn get(&self, field: &str) -> Option<&Value> {
        self.0.get(field)
    }

    pub fn text_field(&self, field: &str) -> Option<&str> {
        self.0.get(field)?.as_str()
    }

    /// Puts `value` under `field`; a field that exists keeps its place.
    pub fn set(&mut self, field: &str, value: impl Into<Value>) {
        self.0.insert(field.to_owned(), value.into());
    }

    pub fn role(&self) -> Role {
        self.text_field("role").map_or(Role::Other, Role::from_text)
    }

    pub fn content(&self) -> Content<'_> {
        match self.0.get("content") {
            Some(Value::String(text)) => Content::Text(text),
            Some(Value::Array(blocks)) => Content::Blocks(blocks),
            _ => Content::Missing,
        }
    }

    /// The blocks of a content list; empty where the content is not a list.
    pub fn blocks(&self) -> &[Value] {
        match self.content() {
            Content::Blocks(blocks) => blocks,
            Content::Text(_) | Content::Missing => &[],
        }
    }

    /// The content as a list of blocks, text being one.
    pub fn to_blocks(&self) -> Vec<Value> {
        match self.content() {
            Content::Text("") | Content::Missing => Vec::new(),
            Content::Text(text) => vec![text_block(text)],
            Content::Blocks(blocks) => blocks.to_vec(),
        }
    }

    /// Takes the content out as a list of blocks, text being one.
    pub fn take_blocks(&mut self) -> Vec<Value> {
        match self.0.get_mut("content").map(Value::take) {
            Some(Value::Array(blocks)) => blocks,
            Some(Value::String(text)) if !text.is_empty() => vec![text_block(&text)],
            _ => Vec::new(),
        }
    }

    /// The blocks of a content list, to change them in place.
    pub fn blocks_mut(&mut self) -> &mut [Value] {
        match self.0.get_mut("content") {
            Some(Value::Array(blocks)) => blocks,
            _ => &mut [],
        }
    }

    pub fn stop_reason(&self) -> Option<&str> {
        self.text_field("stopReason")
    }
}

/// A block of text.
pub fn text_block(text: &str) -> Value {
    let fields = [("type", "text"), ("text", text)];
    fields.into_iter().map(|(field, value)| (field.to_owned(), Value::from(value))).collect()
}

impl Role {
    pub fn from_text(text: &str) -> Self {
        match text {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "toolResult" => Self::ToolResult,
            "bashExecution" => Self::BashExecution,
            "custom" => Self::Custom,
            "branchSummary" => Self::BranchSummary,
            "compactionSummary" => Self::CompactionSummary,
            _ => Self::Other,
        }
    }
}

impl<'m> Block<'m> {
    pub fn of(value: &'m Value) -> Self {
        let field = |name: &str| value.get(name).and_then(Value::as_str);
        match field("type") {
            Some("text") => Self::Text(field("text").unwrap_or("")),
            Some("thinking") => Self::Thinking {
                text: field("thinking").unwrap_or(""),
                signature: field("thinkingSignature"),
            },
            Some("toolCall") => Self::ToolCall(ToolCall {
                id: field("id"),
                name: field("name"),
                arguments: value.get("arguments"),
            }),
            Some("image") => Self::Image,
            _ => Self::Other,
        }
    }
}
