//! What happens to a message while a run is active (`sessions.md` §18).

pub mod directive;
pub mod followup;

use crate::config::Config;
use crate::config::word::Word;
use crate::session::entry::SessionEntry;
use crate::text;

const DEFAULT_DEBOUNCE_MS: f64 = 1000.0;
const DEFAULT_CAP: usize = 20;

/// What becomes of a message that arrives during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueMode {
    /// It is slipped into the run.
    Steer,
    /// It waits, and is run alone.
    Followup,
    /// It waits, and is run together with the others that wait.
    Collect,
    /// It is slipped into the run, and run again afterwards.
    SteerBacklog,
    /// The run is cancelled for it.
    Interrupt,
}

impl QueueMode {
    /// The mode a word names, in any case; older releases had other words.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match text::lower(text::trim(word)).as_str() {
            "steer" | "steering" | "queue" | "queued" => Self::Steer,
            "followup" | "followups" | "follow-ups" => Self::Followup,
            "collect" | "coalesce" => Self::Collect,
            "steer-backlog" | "steer+backlog" | "steer_backlog" => Self::SteerBacklog,
            "interrupt" | "interrupts" | "abort" => Self::Interrupt,
            _ => return None,
        })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steer => "steer",
            Self::Followup => "followup",
            Self::Collect => "collect",
            Self::SteerBacklog => "steer-backlog",
            Self::Interrupt => "interrupt",
        }
    }
}

/// What gives way when the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropPolicy {
    /// The oldest message.
    Old,
    /// The message that arrives.
    New,
    /// The oldest message, but a line of it is kept.
    Summarize,
}

impl DropPolicy {
    pub fn parse(word: &str) -> Option<Self> {
        Some(match text::lower(text::trim(word)).as_str() {
            "old" | "oldest" => Self::Old,
            "new" | "newest" => Self::New,
            "summarize" | "summary" => Self::Summarize,
            _ => return None,
        })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Old => "old",
            Self::New => "new",
            Self::Summarize => "summarize",
        }
    }
}

/// What somebody asked for; the rest is left to others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueWishes {
    pub mode: Option<QueueMode>,
    pub debounce_ms: Option<f64>,
    pub cap: Option<f64>,
    pub drop: Option<DropPolicy>,
}

impl QueueWishes {
    /// What the session was told to do.
    pub fn from_session(entry: &SessionEntry) -> Self {
        Self {
            mode: entry.queue_mode().and_then(QueueMode::parse),
            debounce_ms: entry.queue_debounce_ms(),
            cap: entry.queue_cap(),
            drop: entry.queue_drop().and_then(DropPolicy::parse),
        }
    }

    fn from_config(config: &Config, channel: Option<&str>) -> Self {
        let channel = channel.and_then(text::lower_non_blank);
        let queue = &config.messages.queue;
        let mode = |word: &Word<_>| QueueMode::parse(word.as_str());
        let mode_of_channel = || queue.by_channel.of(channel.as_deref()?).and_then(mode);
        let debounce_of_channel = || queue.debounce_ms_by_channel.as_ref()?.get(channel.as_deref()?).copied();
        Self {
            mode: mode_of_channel().or_else(|| queue.mode.as_ref().and_then(mode)),
            debounce_ms: debounce_of_channel().or(queue.debounce_ms).map(f64::from),
            cap: queue.cap.map(f64::from),
            drop: queue.drop.as_ref().and_then(|word| DropPolicy::parse(word.as_str())),
        }
    }
}

/// How a session's queue behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueSettings {
    pub mode: QueueMode,
    /// How long the last message must lie before the queue is run.
    pub debounce_ms: f64,
    /// How many messages may wait; at least one.
    pub cap: usize,
    pub drop: DropPolicy,
}

impl QueueSettings {
    /// The message's own wish comes first, then the session's, then the configuration's.
    pub fn resolve(
        inline: &QueueWishes,
        session: &QueueWishes,
        config: &Config,
        channel: Option<&str>,
    ) -> Self {
        let configured = QueueWishes::from_config(config, channel);
        let wishes = [inline, session, &configured];
        let first = |wish: fn(&QueueWishes) -> Option<f64>| wishes.into_iter().find_map(wish);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let cap = first(|wishes| wishes.cap).map_or(DEFAULT_CAP, |cap| cap as usize);
        Self {
            mode: wishes.into_iter().find_map(|wishes| wishes.mode).unwrap_or(QueueMode::Collect),
            debounce_ms: first(|wishes| wishes.debounce_ms).unwrap_or(DEFAULT_DEBOUNCE_MS).max(0.0),
            cap: cap.max(1),
            drop: wishes.into_iter().find_map(|wishes| wishes.drop).unwrap_or(DropPolicy::Summarize),
        }
    }
}

/// What a session's lane is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneState {
    Idle,
    Running {
        /// The model is speaking, and can still be told something.
        accepts_steering: bool,
    },
}

/// What to do with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admit {
    RunNow,
    /// Empty the lane and abort the run first.
    CancelThenRun,
    /// Slip it into the run; if the run no longer takes it, queue it.
    Steer,
    SteerAndQueue,
    Queue,
}

/// What a lane does with a message that arrives while it is in `state`.
pub fn admit(mode: QueueMode, state: LaneState) -> Admit {
    use {LaneState::*, QueueMode::*};
    match (state, mode) {
        (Idle, _) => Admit::RunNow,
        (Running { .. }, Interrupt) => Admit::CancelThenRun,
        (Running { accepts_steering: true }, Steer) => Admit::Steer,
        (Running { accepts_steering: true }, SteerBacklog) => Admit::SteerAndQueue,
        // A run that can no longer be steered is about to end: wait for it.
        (Running { .. }, Steer | SteerBacklog | Followup | Collect) => Admit::Queue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn a_message_runs_steers_or_waits() {
        use QueueMode::{Collect, Followup, Interrupt, Steer, SteerBacklog};
        let streaming = LaneState::Running { accepts_steering: true };
        let ending = LaneState::Running { accepts_steering: false };
        let table = [
            (Collect, LaneState::Idle, Admit::RunNow),
            (Interrupt, ending, Admit::CancelThenRun),
            (Steer, streaming, Admit::Steer),
            (SteerBacklog, streaming, Admit::SteerAndQueue),
            (Steer, ending, Admit::Queue),
            (Followup, streaming, Admit::Queue),
        ];
        for (mode, state, expected) in table {
            assert_eq!(admit(mode, state), expected, "{mode:?} {state:?}");
        }
    }

    #[test]
    fn the_nearest_wish_counts() {
        let config = Config::new(
            json::parse(
                r#"{"messages":{"queue":{"mode":"zzz","byChannel":{"slack":"queued"},"debounceMs":-5,
                    "debounceMsByChannel":{"slack":50},"cap":0.4,"drop":"oldest"}}}"#,
            )
            .unwrap(),
        );
        let none = QueueWishes::default();
        let inline = QueueWishes { cap: Some(2.9), ..none };
        let session = QueueWishes { cap: Some(9.0), mode: Some(QueueMode::Interrupt), ..none };
        let slack =
            QueueSettings { mode: QueueMode::Steer, debounce_ms: 50.0, cap: 1, drop: DropPolicy::Old };
        let elsewhere = QueueSettings { mode: QueueMode::Collect, debounce_ms: 0.0, ..slack };
        let told = QueueSettings { mode: QueueMode::Interrupt, cap: 2, ..elsewhere };
        assert_eq!(QueueSettings::resolve(&none, &none, &config, Some(" Slack ")), slack);
        assert_eq!(QueueSettings::resolve(&none, &none, &config, None), elsewhere);
        assert_eq!(QueueSettings::resolve(&inline, &session, &config, None), told);
    }
}
