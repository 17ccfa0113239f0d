//! The door to what the agent can do (`transcripts.md` §1.3).

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::id::AgentId;
use crate::json::{Object, Value};
use crate::message::text_block;
use crate::reply::duplicates::SentTarget;
use crate::session::key::SessionKey;
use crate::status::SessionStatus;

/// Something that the agent can do. Whoever stops waiting for a call gives it up.
#[async_trait]
pub trait Tool: Send + Sync {
    fn spec(&self) -> ToolSpec;

    fn effect(&self) -> Effect;

    /// Does it. What goes wrong is told to the model, which may try otherwise.
    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput;
}

/// How a model is told about a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// A JSON Schema of the arguments.
    pub parameters: Value,
}

/// What is left of a call that was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it may be called again.
    None,
    /// Perhaps something: it must not be repeated unasked.
    Lasting,
}

/// Who calls, from where.
#[derive(Clone, Debug)]
pub struct ToolContext {
    pub agent: AgentId,
    pub session_key: SessionKey,
    pub session_id: String,
    /// The folder that the agent works in.
    pub workspace: PathBuf,
    pub now: Timestamp,
    /// The message came from somebody who owns the agent.
    pub sender_is_owner: bool,
    pub status: Arc<SessionStatus>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// Text and image blocks.
    pub blocks: Vec<Value>,
    pub is_error: bool,
    /// For people and programs, not for the model.
    pub details: Option<Value>,
    /// Messages that the tool itself sent, which need not be sent again.
    pub sent: Vec<Sent>,
}

/// A message that a tool sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub text: String,
    pub target: SentTarget,
}

impl ToolOutput {
    pub fn text(text: &str) -> Self {
        Self { blocks: vec![text_block(text)], ..Self::default() }
    }

    pub fn error(text: &str) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}
