//! The steps of a turn as they are written down, and what they tell after a crash (`sessions.md` §9, §18).
//!
//! A message is on record before anybody is told that it was accepted. Whoever starts after a crash reads
//! the records, and knows of every message how far it came: see [`Progress`].

mod recorded;
pub mod retention;
mod shared;
mod shared_text;
pub mod stage;

use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::inbound::InboundMessage;
use crate::json::{self, Value};
use crate::principal::{Principal, ReplyTo};
use crate::reply::payload::ReplyPayload;

use recorded::RecordedAccepted;

/// The name of a message on its way to a reply.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnId(String);

impl TurnId {
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of one of the messages that are sent in this turn.
    pub fn delivery(&self, number: usize) -> String {
        format!("{}:{number}", self.0)
    }

    /// The name of a piece of an answer that is sent while the rest is still being written.
    pub fn block(&self, number: usize) -> String {
        format!("{}:block:{number}", self.0)
    }
}

impl std::fmt::Display for TurnId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub turn: TurnId,
    /// Milliseconds since 1970.
    pub at: i64,
    #[serde(flatten)]
    pub step: Step,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Step {
    Accepted(#[serde(with = "shared")] Arc<Accepted>),
    /// A run takes care of the message: its own, or one that was going on already.
    Begun {
        run: TurnId,
    },
    Opened(Opened),
    ToolBegun {
        call: String,
        tool: String,
    },
    ToolEnded {
        call: String,
    },
    /// The answer is in the transcript; these messages are to be sent, under the names of
    /// [`TurnId::delivery`].
    Ready {
        payloads: Vec<ReplyPayload>,
    },
    /// Somebody is about to be sent something.
    Sending {
        delivery: String,
        /// What it is, unless a `ready` tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block: Option<ReplyPayload>,
    },
    Delivered {
        delivery: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// The message gets no answer; its words go into the transcript before the turn is settled.
    NotAnswered {
        reason: NotAnsweredReason,
    },
    Settled {
        outcome: Outcome,
    },
}

/// A message that was accepted, as it is in the journal. It is made once and shared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "RecordedAccepted")]
pub struct Accepted {
    pub session_key: String,
    pub principal: Principal,
    pub reply_to: ReplyTo,
    pub message: InboundMessage,
    pub options: TurnOptions,
    /// What a repeated delivery of the message is recognised by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dedupe: Option<String>,
}

/// How a turn is to be taken, where that differs from what the session says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnOptions {
    pub lane: LaneClass,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbose: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// What only this turn's system prompt says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_system_prompt: Option<String>,
    /// It is answered by a run of its own, whatever else waits in its session, and the caller is told what the model
    /// said, without what a person in a chat is told beside it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// Whoever wrote it sits at a terminal: a command that nobody knows is a slip, and no question to the model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub refuses_unknown_commands: bool,
    /// What the run is called by whoever asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// What is shown beside the words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<ShownPicture>,
}

/// A picture that came with a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShownPicture {
    pub mime_type: String,
    /// In base64.
    pub data: String,
}

impl ShownPicture {
    /// As it stands in a message.
    pub fn block(&self) -> Value {
        let fields = [("type", "image"), ("data", &self.data), ("mimeType", &self.mime_type)];
        fields.into_iter().map(|(field, value)| (field.to_owned(), Value::from(value))).collect()
    }
}

/// Turns of different classes do not wait for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LaneClass {
    #[default]
    Main,
    Subagent,
    /// Asked for by a run that waits for the answer.
    Nested,
    Cron,
}

/// The session that a turn belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    pub session_key: String,
    pub session_id: String,
    /// The file of the transcript, without its ending.
    pub transcript: String,
    /// The `timestamp` of the question in the transcript, by which it is found there.
    pub asked_at: i64,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    Answered,
    /// Another turn's run answered it.
    Joined,
    /// Somebody stopped it.
    Aborted,
    /// It ended in an error that was told.
    Failed,
    /// It gave way to others in a full queue.
    Dropped,
}

impl Record {
    pub fn new(turn: &TurnId, at: i64, step: Step) -> Self {
        Self { turn: turn.clone(), at, step }
    }

    /// The record as a line, without its line feed.
    pub fn line(&self) -> String {
        // Nothing in a record can fail to become a value: keys are texts, numbers are finite.
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(message) = value.get_mut("message").and_then(Value::as_object_mut) {
            shared_text::share(message);
        }
        json::stringify(&value)
    }

    /// The record on a line; `None` if it is not one.
    pub fn parse(line: &str) -> Option<Self> {
        let mut value: Value = json::parse(line).ok()?;
        if let Some(message) = value.get_mut("message").and_then(Value::as_object_mut) {
            shared_text::unshare(message);
        }
        serde_json::from_value(value).ok()
    }
}

/// How far a turn came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    pub accepted: Arc<Accepted>,
    pub accepted_at: i64,
    /// The run that took care of it.
    pub run: Option<TurnId>,
    pub opened: Option<Opened>,
    /// Tools that began, by call; `true` once they ended.
    pub tools: IndexMap<String, bool>,
    pub ready: Option<Vec<ReplyPayload>>,
    /// Pieces of the answer that were sent, or may have been, before it was complete.
    pub blocks: Vec<ReplyPayload>,
    pub deliveries: IndexMap<String, DeliveryState>,
    pub not_answered: Option<NotAnsweredReason>,
    pub settled: Option<Outcome>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// It may have been sent or not.
    InDoubt,
    Done,
}

/// How far each turn came, in the order in which they were accepted. Records of turns that nobody
/// accepted say nothing.
pub fn progress(records: impl IntoIterator<Item = Record>) -> IndexMap<TurnId, Progress> {
    let mut turns: IndexMap<TurnId, Progress> = IndexMap::new();
    for Record { turn, at, step } in records {
        if let Step::Accepted(accepted) = step {
            turns.entry(turn).or_insert_with(|| Progress {
                accepted,
                accepted_at: at,
                ..Progress::default()
            });
        } else if let Some(progress) = turns.get_mut(&turn) {
            progress.advance(step);
        }
    }
    turns
}

impl Progress {
    fn advance(&mut self, step: Step) {
        match step {
            Step::Accepted(_) => {}
            Step::Begun { run } => self.run = Some(run),
            Step::Opened(opened) => self.opened = Some(opened),
            Step::ToolBegun { call, .. } => {
                self.tools.insert(call, false);
            }
            Step::ToolEnded { call } => {
                self.tools.insert(call, true);
            }
            Step::Ready { payloads } => self.ready = Some(payloads),
            Step::Sending { delivery, block } => {
                // A record that was copied from one journal to another may be there twice.
                if !self.deliveries.contains_key(&delivery) {
                    self.blocks.extend(block);
                }
                self.deliveries.insert(delivery, DeliveryState::InDoubt);
            }
            Step::Delivered { delivery, .. } => {
                self.deliveries.insert(delivery, DeliveryState::Done);
            }
            Step::NotAnswered { reason } => self.not_answered = Some(reason),
            Step::Settled { outcome } => self.settled = Some(outcome),
        }
    }

    /// Whether a tool call began and nobody knows how it ended.
    pub fn was_interrupted(&self, call: &str) -> bool {
        self.tools.get(call) == Some(&false)
    }
}

/// Why a message was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NotAnsweredReason {
    /// The session was stopped, reset or deleted.
    Stopped,
    /// The queue of the session was full.
    QueueFull,
}

impl NotAnsweredReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::QueueFull => "queueFull",
        }
    }

    /// What the sender is told.
    pub fn notice(self) -> &'static str {
        match self {
            Self::Stopped => "Not answered: the session was stopped while this message was waiting.",
            Self::QueueFull => "Not answered: too many messages were waiting in this session.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(turn: &str, step: Step) -> Record {
        Record::new(&TurnId::new(turn), 7, step)
    }

    fn accepted(turn: &str, body: &str) -> Record {
        let message = InboundMessage { body: Some(body.to_owned()), ..InboundMessage::default() };
        step(turn, Step::Accepted(Arc::new(Accepted { message, ..Accepted::default() })))
    }

    #[test]
    fn every_record_comes_back_from_its_line() {
        let payload = ReplyPayload::from_text("hi \u{10ffff}\n");
        let steps = [
            accepted("a", "line\nbreak").step,
            Step::Begun { run: TurnId::new("r") },
            Step::Opened(Opened { session_id: "s".into(), asked_at: 5, ..Opened::default() }),
            Step::ToolBegun { call: "1".into(), tool: "write".into() },
            Step::ToolEnded { call: "1".into() },
            Step::Ready { payloads: vec![payload.clone()] },
            Step::Sending { delivery: "a:0".into(), block: Some(payload) },
            Step::Delivered { delivery: "a:0".into(), message_id: None },
            Step::NotAnswered { reason: NotAnsweredReason::QueueFull },
            Step::Settled { outcome: Outcome::Answered },
        ];
        for kind in steps {
            let record = step("a", kind);
            let line = record.line();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(Record::parse(&line), Some(record), "{line}");
        }
        assert_eq!(Record::parse(r#"{"turn":"a","at":1,"step":"unheard-of"}"#), None);
        assert_eq!(Record::parse("{"), None);
    }

    #[test]
    fn records_that_are_repeated_say_nothing_new() {
        let payload = ReplyPayload::from_text("half");
        let once = [
            accepted("a", "one"),
            step("a", Step::ToolBegun { call: "1".into(), tool: "t".into() }),
            step("a", Step::ToolEnded { call: "1".into() }),
            step("a", Step::Sending { delivery: "a:block:0".into(), block: Some(payload) }),
            step("a", Step::Delivered { delivery: "a:block:0".into(), message_id: None }),
        ];
        let twice = once.iter().chain(&once).cloned();
        assert_eq!(progress(twice), progress(once.clone()));
    }

    #[test]
    fn progress_is_what_the_records_say_in_order() {
        let told = progress([
            step("lost", Step::ToolEnded { call: "9".into() }),
            accepted("a", "one"),
            accepted("b", "two"),
            step("a", Step::ToolBegun { call: "1".into(), tool: "t".into() }),
            step("a", Step::ToolBegun { call: "2".into(), tool: "t".into() }),
            step("a", Step::ToolEnded { call: "2".into() }),
            step("a", Step::Sending { delivery: "a:0".into(), block: None }),
            step("b", Step::Settled { outcome: Outcome::Joined }),
        ]);
        assert_eq!(told.keys().map(TurnId::as_str).collect::<Vec<_>>(), ["a", "b"]);
        let (a, b) = (&told[0], &told[1]);
        assert!(a.was_interrupted("1") && !a.was_interrupted("2") && !a.was_interrupted("3"));
        assert_eq!(a.deliveries["a:0"], DeliveryState::InDoubt);
        assert_eq!((a.settled, b.settled), (None, Some(Outcome::Joined)));
    }
}
