//! How far a turn came, in a word for a person (`sessions.md` §9, §18).

use std::fmt;

use super::{DeliveryState, Outcome, Progress, TurnId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nobody takes care of it yet.
    Waiting,
    /// It became a part of what another run answers.
    Joined,
    /// A model is at it, or so many tools are.
    Running {
        tools: usize,
    },
    /// The answer is there, and of its messages so many are sent. Of those in doubt nobody knows.
    Sending {
        sent: usize,
        in_doubt: usize,
        all: usize,
    },
    Settled(Outcome),
}

impl Stage {
    pub fn of(turn: &TurnId, progress: &Progress) -> Self {
        if let Some(outcome) = progress.settled {
            return Self::Settled(outcome);
        }
        if let Some(payloads) = &progress.ready {
            let states = (0..payloads.len()).filter_map(|at| progress.deliveries.get(&turn.delivery(at)));
            let sent = states.clone().filter(|state| **state == DeliveryState::Done).count();
            return Self::Sending { sent, in_doubt: states.count() - sent, all: payloads.len() };
        }
        match &progress.run {
            Some(run) if run != turn => Self::Joined,
            None if progress.opened.is_none() && progress.tools.is_empty() => Self::Waiting,
            _ => Self::Running { tools: progress.tools.values().filter(|ended| !**ended).count() },
        }
    }

    /// One word, for scripts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Joined => "joined",
            Self::Running { .. } => "running",
            Self::Sending { .. } => "sending",
            Self::Settled(_) => "settled",
        }
    }
}

impl Outcome {
    /// As it stands in the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Joined => "joined",
            Self::Aborted => "aborted",
            Self::Failed => "failed",
            Self::Dropped => "dropped",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting => f.write_str("waiting"),
            Self::Joined => f.write_str("part of another run"),
            Self::Running { tools: 0 } => f.write_str("being answered"),
            Self::Running { tools: 1 } => f.write_str("being answered, a tool at work"),
            Self::Running { tools } => write!(f, "being answered, {tools} tools at work"),
            Self::Sending { sent, in_doubt: 0, all } => write!(f, "answered, {sent} of {all} sent"),
            Self::Sending { sent, in_doubt, all } => {
                write!(f, "answered, {sent} of {all} sent, {in_doubt} in doubt")
            }
            Self::Settled(Outcome::Answered) => f.write_str("done"),
            Self::Settled(Outcome::Joined) => f.write_str("done by another run"),
            Self::Settled(Outcome::Aborted) => f.write_str("stopped"),
            Self::Settled(Outcome::Failed) => f.write_str("failed, and told so"),
            Self::Settled(Outcome::Dropped) => f.write_str("gave way in a full queue"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::reply::payload::ReplyPayload;
    use crate::turn::{Record, Step, progress};

    #[test]
    fn a_stage_is_the_last_thing_that_is_known() {
        let turn = TurnId::new("a");
        let payloads = vec![ReplyPayload::from_text("1"), ReplyPayload::from_text("2")];
        let steps = [
            (Step::Accepted(Arc::default()), "waiting"),
            (Step::Begun { run: TurnId::new("b") }, "part of another run"),
            (Step::Begun { run: turn.clone() }, "being answered"),
            (Step::ToolBegun { call: "1".into(), tool: "t".into() }, "being answered, a tool at work"),
            (Step::ToolBegun { call: "2".into(), tool: "t".into() }, "being answered, 2 tools at work"),
            (Step::ToolEnded { call: "1".into() }, "being answered, a tool at work"),
            (Step::Ready { payloads }, "answered, 0 of 2 sent"),
            (Step::Sending { delivery: turn.delivery(0), block: None }, "answered, 0 of 2 sent, 1 in doubt"),
            (Step::Delivered { delivery: turn.delivery(0), message_id: None }, "answered, 1 of 2 sent"),
            (Step::Settled { outcome: Outcome::Answered }, "done"),
        ];
        let mut records = Vec::new();
        for (step, told) in steps {
            records.push(Record::new(&turn, 1, step));
            let stage = Stage::of(&turn, &progress(records.clone())[&turn]);
            assert_eq!(stage.to_string(), told);
        }
    }

    #[test]
    fn outcomes_are_called_as_they_are_written() {
        use Outcome::{Aborted, Answered, Dropped, Failed, Joined};
        for outcome in [Answered, Joined, Aborted, Failed, Dropped] {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
        }
    }
}
