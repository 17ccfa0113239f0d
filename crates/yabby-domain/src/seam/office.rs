//! The door through which a tool asks something of the program that runs it (`sessions.md` §17, `state-files.md` §4).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{SessionStore, TranscriptStore};
use crate::delivery::DeliveryContext;
use crate::id::AgentId;
use crate::json::Value;
pub use crate::leash::exec_policy::Decision;
use crate::session::key::SessionKey;

/// What the program does for a tool. It outlives the call: a command that goes on in the background leaves
/// its notice here when it ends.
#[async_trait]
pub trait Office: Send + Sync {
    /// Sends a message through a channel; the id that the platform gave it, if it tells.
    async fn send(&self, letter: Letter) -> Result<Option<String>, String>;

    /// Says something in another session, and waits so long for the answer.
    async fn tell(&self, session: &SessionKey, words: &str, wait: Duration) -> Result<Told, String>;

    /// Gives a task to an agent of its own, which announces its result where it was spawned.
    async fn spawn(&self, task: Task) -> Result<Spawned, String>;

    /// The conversations of an agent.
    fn conversations(&self, agent: &AgentId) -> Result<Conversations, String>;

    /// Leaves a notice for the next prompt of a session.
    fn notice(&self, session: &SessionKey, words: &str);

    /// Has a model that can see look at an image (a block of a message), and answer a question about it.
    async fn look(&self, image: Value, question: &str) -> Result<String, String>;

    /// Asks a person whether a command may run, and waits for the decision.
    async fn ask(&self, question: Question) -> Decision;
}

/// Where an agent's conversations are kept.
#[derive(Clone)]
pub struct Conversations {
    pub sessions: Arc<dyn SessionStore>,
    pub transcripts: Arc<dyn TranscriptStore>,
}

/// A message that a tool wants sent. What is not said follows from where the session talks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Letter {
    pub to: DeliveryContext,
    pub text: String,
    /// A file or an address.
    pub media: Option<String>,
    pub reply_to: Option<String>,
}

/// What became of words said in another session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    Answered {
        run: String,
        reply: Option<String>,
    },
    /// Nobody waits for it; it will be answered.
    Accepted {
        run: String,
    },
    /// There was no answer in time; it goes on.
    TimedOut {
        run: String,
    },
    Failed {
        run: String,
        error: String,
    },
}

/// Work for an agent of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    pub words: String,
    pub label: Option<String>,
    pub agent: Option<AgentId>,
    pub model: Option<String>,
    pub thinking: Option<String>,
    pub time_limit: Option<Duration>,
    /// Whether the session is deleted when its result was announced.
    pub delete_after: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spawned {
    pub session: SessionKey,
    pub run: String,
    /// What could not be done as asked.
    pub warning: Option<String>,
}

/// A command that somebody has to allow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    pub command: String,
    pub folder: String,
    /// `deny`, `allowlist` or `full`, and `off`, `on-miss` or `always`.
    pub security: String,
    pub ask: String,
    /// The program that the command begins with, as it was found.
    pub program: Option<String>,
}
