//! What clients may want to see while a turn is taken.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;
use yabby_domain::json::Value;
use yabby_domain::message::Message;
use yabby_domain::model::ModelRef;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::seam::model::Purpose;
use yabby_domain::seam::office::{Decision, Question};
use yabby_domain::session::key::SessionKey;
use yabby_domain::turn::{Outcome, TurnId};
use yabby_domain::usage::Usage;

use crate::unpoisoned;

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
    /// Something could not be written; the turn goes on when that is possible again.
    Suspended {
        why: String,
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

/// How many events may wait for somebody slow before they miss some.
const BACKLOG: usize = 4096;

/// Somebody who listens. What waits for them takes room only while it waits.
pub struct Listener {
    waiting: mpsc::Receiver<EngineEvent>,
    missed: Arc<AtomicU64>,
}

/// Why there is no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unheard {
    /// There were so many more than could wait.
    Missed(u64),
    /// None waits.
    Nothing,
    /// There will be none.
    Over,
}

impl Listener {
    /// Waits for the next event.
    pub async fn recv(&mut self) -> Result<EngineEvent, Unheard> {
        self.check_missed()?;
        self.waiting.recv().await.ok_or(Unheard::Over)
    }

    /// The next event, if one waits.
    pub fn try_recv(&mut self) -> Result<EngineEvent, Unheard> {
        self.check_missed()?;
        self.waiting.try_recv().map_err(|error| match error {
            TryRecvError::Empty => Unheard::Nothing,
            TryRecvError::Disconnected => Unheard::Over,
        })
    }

    fn check_missed(&self) -> Result<(), Unheard> {
        match self.missed.swap(0, Ordering::Relaxed) {
            0 => Ok(()),
            missed => Err(Unheard::Missed(missed)),
        }
    }
}

/// Tells everybody who listens.
#[derive(Default)]
pub(crate) struct Events {
    listeners: Mutex<Vec<(mpsc::Sender<EngineEvent>, Arc<AtomicU64>)>>,
    count: AtomicU64,
}

impl Events {
    pub(crate) fn subscribe(&self) -> Listener {
        let (sender, waiting) = mpsc::channel(BACKLOG);
        let missed = Arc::new(AtomicU64::new(0));
        unpoisoned(&self.listeners).push((sender, missed.clone()));
        Listener { waiting, missed }
    }

    pub(crate) fn tell(&self, at: i64, session: &SessionKey, turn: Option<&TurnId>, kind: EventKind) {
        let mut listeners = unpoisoned(&self.listeners);
        listeners.retain(|(sender, _)| !sender.is_closed());
        // Deltas are many; nobody pays for them where nobody listens.
        if listeners.is_empty() {
            return;
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let event = EngineEvent { number, at, session: session.clone(), turn: turn.cloned(), kind };
        for (sender, missed) in listeners.iter() {
            if sender.try_send(event.clone()).is_err() {
                missed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_is_too_slow_is_told_how_much_they_missed() {
        let events = Events::default();
        let key = SessionKey::new("agent:main:main");
        events.tell(1, &key, None, EventKind::Flushed);
        let (mut slow, mut gone) = (events.subscribe(), events.subscribe());
        assert_eq!(gone.try_recv().map(|event| event.at), Err(Unheard::Nothing));
        drop(gone);
        for at in 0..=BACKLOG {
            events.tell(i64::try_from(at).unwrap(), &key, None, EventKind::Flushed);
        }
        assert_eq!(slow.recv().await.map(|event| event.at), Err(Unheard::Missed(1)));
        assert_eq!(slow.recv().await.map(|event| (event.number, event.at)), Ok((0, 0)));
        drop(events);
        let mut heard = 1;
        while slow.recv().await.is_ok() {
            heard += 1;
        }
        assert_eq!((heard, slow.try_recv().map(|event| event.at)), (BACKLOG, Err(Unheard::Over)));
    }
}
