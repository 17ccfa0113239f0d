//! The door to whoever answers: a language model, or something that does as if (`sessions.md` §15).

use std::time::Duration;

use async_trait::async_trait;

pub use crate::ledger::Purpose;

use super::tool::ToolSpec;
use crate::directive::level::ThinkLevel;
use crate::json::Value;
use crate::message::Message;
use crate::model::ModelRef;
use crate::reply::usage_line::Prices;
use crate::usage::Usage;

/// A provider of models. Whoever stops waiting for an answer cancels it.
#[async_trait]
pub trait ModelProvider: Send + Sync {
    /// The name in front of the slash in `provider/model`.
    fn id(&self) -> &str;

    /// What is known about a model; `None` if the provider has no such model.
    fn describe(&self, model: &str) -> Option<ModelInfo>;

    /// The models it is known to have.
    fn models(&self) -> Vec<String>;

    /// Asks for one answer, and tells what it hears of it on the way.
    async fn stream(
        &self,
        request: &ModelRequest,
        heard: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> Result<Answer, ModelError>;
}

/// What is known about a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// The wire format, as transcripts name it: `anthropic-messages`, `openai-responses`, …
    pub api: String,
    /// In tokens.
    pub context_window: u64,
    pub max_output: u64,
    /// It can think before it answers.
    pub reasoning: bool,
    pub images: bool,
    pub prices: Option<Prices>,
    /// A program that keeps the conversation itself.
    pub keeps_own_context: bool,
}

/// One question to a model. `messages` are acceptable to it (see [`crate::provider_rules`]).
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    pub model: ModelRef,
    pub system: String,
    pub messages: Vec<Message>,
    /// In an order that does not change while a session lasts: providers cache the beginning of a request.
    pub tools: Vec<ToolSpec>,
    pub thinking: ThinkLevel,
    pub max_tokens: Option<u64>,
    /// What caches may be keyed by.
    pub session_id: String,
    /// The credentials that the session was told to use, and no others.
    pub profile: Option<String>,
    pub purpose: Purpose,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelEvent {
    Text(String),
    Thinking(String),
    /// A tool call begins; its arguments follow with the answer.
    ToolCall {
        name: String,
    },
}

/// What the model said, as it will stand in the transcript.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// `text`, `thinking` and `toolCall` blocks, with whatever the provider wants to see again in them.
    pub blocks: Vec<Value>,
    pub stop: Stop,
    pub usage: Usage,
    /// The session that a program keeps itself.
    pub cli_session_id: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    #[default]
    Done,
    /// The answer is cut off: it was longer than allowed.
    Length,
    /// It waits for tools.
    ToolUse,
}

impl Stop {
    /// As transcripts spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "stop",
            Self::Length => "length",
            Self::ToolUse => "toolUse",
        }
    }
}

/// Why there is no answer. The text says what happened and what to do, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ModelErrorKind,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// The request is longer than the model reads.
    ContextOverflow,
    RateLimited {
        retry_after: Option<Duration>,
    },
    Overloaded,
    Auth,
    Refused,
    BadRequest,
    TimedOut,
    /// There is no such provider or model here.
    Unavailable,
    /// Nobody answered, or the answer broke off.
    Broken,
}

impl ModelError {
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}
