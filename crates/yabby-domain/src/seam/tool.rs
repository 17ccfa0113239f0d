//! The door to what the agent can do (`transcripts.md` §1.3).

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use super::office::Office;
use crate::config::Config;
use crate::delivery::DeliveryContext;
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

/// Somewhere tools come from that are not known before it was asked: a server of the Model Context Protocol.
#[async_trait]
pub trait ToolSource: Send + Sync {
    /// The tools that it has, in an order that stays the same. One that cannot be reached in time has none.
    async fn tools(&self) -> Vec<Arc<dyn Tool>>;
}

/// Who hears what is said in the conversation that a tool is called from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// The owner, and nobody else.
    OwnerAlone,
    /// Others, too: what is the owner's own is none of theirs.
    Others,
    /// Others, too, and the agent puts down what it is to remember of what they said: notes may grow.
    OthersNoted,
}

/// Who calls, from where.
#[derive(Clone)]
pub struct ToolContext {
    /// The configuration that the turn began with.
    pub config: Arc<Config>,
    pub office: Arc<dyn Office>,
    /// The name of the call in the transcript.
    pub call: String,
    pub company: Company,
    /// Commands run behind walls here.
    pub is_confined: bool,
    /// Where the session talks.
    pub address: Option<DeliveryContext>,
    /// The model can look at images.
    pub sees_images: bool,
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
