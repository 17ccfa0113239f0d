//! What clients may want to see while a turn is taken.

use tokio::sync::broadcast;
use yabby_domain::json::Value;
use yabby_domain::message::Message;
use yabby_domain::model::ModelRef;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::seam::model::Purpose;
use yabby_domain::seam::office::{Decision, Question};
use yabby_domain::session::key::SessionKey;
use yabby_domain::turn::{Outcome, TurnId};
use yabby_domain::usage::Usage;

/// Something that happened in a session.
#[derive(Clone, Debug)]
pub struct EngineEvent {
    /// Counts every event of this process.
    pub number: u64,
    /// Milliseconds since 1970.
    pub at: i64,
    pub session: SessionKey,
    /// The turn it belongs to, if it belongs to one.
    pub turn: Option<TurnId>,
    pub kind: EventKind,
}

#[derive(Clone, Debug)]
pub enum EventKind {
    /// A message waits for the run that is going on.
    Queued {
        waiting: usize,
    },
    SessionStarted {
        session_id: String,
        previous: Option<String>,
    },
    SessionEnded {
        session_id: String,
    },
    RunStarted {
        model: ModelRef,
        /// What the run is called by whoever asked for it.
        run_id: Option<String>,
    },
    Text(String),
    Thinking(String),
    ToolStarted {
        call: String,
        tool: String,
        arguments: Value,
    },
    ToolEnded {
        call: String,
        tool: String,
        result: Message,
    },
    /// A message was slipped into the run.
    Steered {
        turn: TurnId,
    },
    CompactionStarted {
        overflow: bool,
    },
    CompactionEnded {
        compacted: Option<Compacted>,
        will_retry: bool,
    },
    Flushed,
    Called(Call),
    /// A model could not answer, and another one is asked.
    FellBack {
        from: ModelRef,
        to: ModelRef,
        why: String,
    },
    /// A command waits until a person allows it.
    ApprovalRequested {
        id: String,
        question: Question,
    },
    ApprovalResolved {
        id: String,
        decision: Decision,
    },
    /// The agent said something that goes to no channel and to no caller.
    Said(ReplyPayload),
    /// A piece of the reply was sent while the run goes on.
    Block(ReplyPayload),
    TranscriptChanged {
        transcript: String,
    },
    Delivered {
        payload: ReplyPayload,
    },
    NotDelivered {
        payload: ReplyPayload,
        why: String,
    },
    RunEnded {
        outcome: Outcome,
        error: Option<String>,
    },
}

/// A history that became a summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Compacted {
    pub entry: String,
    pub tokens_before: u64,
    pub tokens_after: u64,
}

/// One call of a model, for the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub model: ModelRef,
    pub purpose: Purpose,
    pub usage: Usage,
    /// In dollars, where the price is known.
    pub cost: Option<f64>,
    pub duration_ms: u64,
}

/// How many events somebody slow may lag behind before they miss some.
const BACKLOG: usize = 4096;

/// Tells everybody who listens.
pub(crate) struct Events {
    sender: broadcast::Sender<EngineEvent>,
    count: std::sync::atomic::AtomicU64,
}

impl Events {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::channel(BACKLOG).0, count: std::sync::atomic::AtomicU64::new(0) }
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<EngineEvent> {
        self.sender.subscribe()
    }

    pub(crate) fn tell(&self, at: i64, session: &SessionKey, turn: Option<&TurnId>, kind: EventKind) {
        // Deltas are many; nobody pays for them where nobody listens.
        if self.sender.receiver_count() == 0 {
            return;
        }
        let number = self.count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let _ =
            self.sender.send(EngineEvent { number, at, session: session.clone(), turn: turn.cloned(), kind });
    }
}
