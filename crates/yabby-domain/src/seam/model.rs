//! The door to whoever answers: a language model, or something that does as if (`sessions.md` §15).

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use crate::ledger::Purpose;

use super::settled::SettledMessages;
use super::tool::ToolSpec;
use crate::compaction::tokens::estimate_all;
use crate::directive::level::ThinkLevel;
use crate::id::AgentId;
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
}

/// One question to a model. Its messages are acceptable to it (see [`crate::provider_rules`]).
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    pub model: ModelRef,
    pub system: String,
    /// What was said long ago, in front of `messages`.
    pub settled: Vec<Arc<SettledMessages>>,
    pub messages: Vec<Message>,
    /// In an order that does not change while a session lasts: providers cache the beginning of a request.
    pub tools: Vec<Arc<ToolSpec>>,
    pub thinking: ThinkLevel,
    pub max_tokens: Option<u64>,
    /// What caches may be keyed by.
    pub session_id: String,
    /// Whose question it is: agents may have credentials of their own.
    pub agent: AgentId,
    /// The credentials that the session was told to use, and no others.
    pub profile: Option<String>,
    /// The session that the model, being a program, keeps itself and is to go on with; without one it is
    /// to begin a session, and knows nothing but what it is told.
    pub cli_session: Option<String>,
    /// Where the agent works, which is where a program is run.
    pub workspace: Option<PathBuf>,
    pub purpose: Purpose,
}

impl ModelRequest {
    /// A question of the main agent, with nothing but its messages.
    pub fn new(model: ModelRef, messages: Vec<Message>) -> Self {
        Self {
            model,
            system: String::new(),
            settled: Vec::new(),
            messages,
            tools: Vec::new(),
            thinking: ThinkLevel::Off,
            max_tokens: None,
            session_id: String::new(),
            agent: AgentId::default(),
            profile: None,
            cli_session: None,
            workspace: None,
            purpose: Purpose::Turn,
        }
    }

    /// All messages, the settled ones included.
    pub fn all_messages(&self) -> Cow<'_, [Message]> {
        if self.settled.is_empty() {
            return Cow::Borrowed(&self.messages);
        }
        let settled = self.settled.iter().flat_map(|part| part.messages());
        Cow::Owned(settled.chain(self.messages.iter().cloned()).collect())
    }

    /// The same question with all of its messages in `messages`.
    #[must_use]
    pub fn unsettled(&self) -> Self {
        let messages = self.all_messages().into_owned();
        Self { settled: Vec::new(), messages, ..self.clone() }
    }

    /// About how many tokens the messages are.
    pub fn message_tokens(&self) -> u64 {
        self.settled.iter().map(|part| part.tokens()).sum::<u64>() + estimate_all(&self.messages)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelEvent {
    Text(String),
    Thinking(String),
    /// A tool call begins; its arguments follow with the answer.
    ToolCall {
        name: String,
    },
    /// So much more of the arguments of a tool call was written.
    ToolArguments {
        bytes: usize,
    },
}

/// What the model said, as it will stand in the transcript.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// `text`, `thinking` and `toolCall` blocks, with whatever the provider wants to see again in them.
    pub blocks: Vec<Value>,
    pub stop: Stop,
    /// What the call took. A program may ask its service several times: then the parts are the sum, and the
    /// total is how full its context was in the end.
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
    /// The HTTP status that the service answered with, if it answered.
    pub status: Option<u16>,
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
    /// The account is not paid for, or has no credit left.
    Billing,
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
        Self { kind, message: message.into(), status: None }
    }
}
