//! The lock beside a store: its file, and what to do when another holds it (`sessions.md` §6).

use crate::json::{self, Object};

const TIMEOUT_MS: f64 = 10_000.0;
const STALE_MS: f64 = 30_000.0;
const POLL_MS: f64 = 25.0;

/// What the holder writes into the lock.
pub fn lock_text(process: u32, now: f64) -> String {
    let mut holder = Object::new();
    holder.insert("pid".to_owned(), process.into());
    holder.insert("startedAt".to_owned(), json::number(now));
    json::stringify_object(&holder)
}

/// What to do about a lock that somebody else holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WhenLocked {
    /// Its holder is gone: remove it, and try again at once.
    Remove,
    /// Try again after so many milliseconds.
    Wait(f64),
    GiveUp,
}

/// A lock that somebody else holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// When the lock was written, if that can be told.
    pub written: Option<f64>,
    pub holder: Option<Holder>,
}

/// Who a lock says it belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Holder {
    pub pid: i64,
    /// When it got the lock.
    pub since: f64,
}

impl Holder {
    /// The holder in the text of a lock; `None` if it cannot be read.
    pub fn read(lock: &str) -> Option<Self> {
        let lock = json::parse(lock).ok()?;
        let pid = lock.get("pid")?.as_i64()?;
        Some(Self { pid, since: lock.get("startedAt")?.as_f64()? })
    }
}

/// What is known about a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Process {
    Gone,
    /// It runs since then, in epoch milliseconds.
    Since(f64),
    /// It runs, or may be running.
    Alive,
}

impl Process {
    /// Whether the process is not the one that did something at `time`: it is gone, or another one got
    /// its number since.
    pub fn is_not_the_one(self, time: f64) -> bool {
        /// The start of a process is known to the second.
        const PRECISION_MS: f64 = 2000.0;
        match self {
            Self::Gone => true,
            Self::Since(start) => start > time + PRECISION_MS,
            Self::Alive => false,
        }
    }
}

/// What to do about a lock; `started` is when the first attempt was made.
///
/// The reference waits until a lock is old. We look after its holder as well, though not at once: a
/// process in another container has a number that means nothing here, and is through by then.
pub fn when_locked(now: f64, started: f64, held: Held, process: impl Fn(i64) -> Process) -> WhenLocked {
    const GRACE_MS: f64 = 2000.0;
    let is_older = |ms: f64| held.written.is_some_and(|written| now - written > ms);
    // A lock that was written before the clock was set back has no age, but we know how long we wait.
    let is_ahead = held.written.is_some_and(|written| written > now) && now - started > GRACE_MS;
    let is_abandoned = |holder: Holder| process(holder.pid).is_not_the_one(holder.since);
    if now - started > TIMEOUT_MS {
        WhenLocked::GiveUp
    } else if is_older(STALE_MS)
        || ((is_older(GRACE_MS) || is_ahead) && held.holder.is_some_and(is_abandoned))
    {
        WhenLocked::Remove
    } else {
        WhenLocked::Wait(POLL_MS)
    }
}

/// Nobody let go of the lock in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("timeout acquiring session store lock: {path}")]
pub struct LockTimeout {
    pub path: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_waited_for_unless_its_holder_is_gone() {
        //  now       started   written         what to do
        let table = [
            (10_000.0, 0.0, Some(9000.0), WhenLocked::Wait(25.0)),
            (10_001.0, 0.0, Some(9000.0), WhenLocked::GiveUp),
            (40_000.0, 35_000.0, Some(9999.0), WhenLocked::Remove),
            (40_000.0, 35_000.0, Some(10_000.0), WhenLocked::Wait(25.0)),
            (40_000.0, 35_000.0, None, WhenLocked::Wait(25.0)),
            (40_000.0, 0.0, Some(0.0), WhenLocked::GiveUp),
        ];
        for (now, started, written, expected) in table {
            let held = Held { written, holder: Holder::read(&lock_text(7, 10_000.0)) };
            let decided = when_locked(now, started, held, |_| Process::Since(9000.0));
            assert_eq!(decided, expected, "{now} {started} {written:?}");
        }
        //  now       process                       what to do
        let table = [
            (13_000.0, Process::Gone, WhenLocked::Remove),
            (12_000.0, Process::Gone, WhenLocked::Wait(25.0)),
            (13_000.0, Process::Alive, WhenLocked::Wait(25.0)),
            (13_000.0, Process::Since(11_000.0), WhenLocked::Wait(25.0)),
            (13_000.0, Process::Since(12_500.0), WhenLocked::Remove),
        ];
        for (now, process, expected) in table {
            let held = Held { written: Some(10_000.0), holder: Holder::read(&lock_text(7, 10_000.0)) };
            assert_eq!(when_locked(now, now, held, |_| process), expected, "{now} {process:?}");
        }
        //  now     started  process        what to do about a lock of a time to come
        let table = [
            (5000.0, 2999.0, Process::Gone, WhenLocked::Remove),
            (5000.0, 3000.0, Process::Gone, WhenLocked::Wait(25.0)),
            (5000.0, 2999.0, Process::Alive, WhenLocked::Wait(25.0)),
        ];
        for (now, started, process, expected) in table {
            let held = Held { written: Some(10_000.0), holder: Holder::read(&lock_text(7, 10_000.0)) };
            assert_eq!(when_locked(now, started, held, |_| process), expected, "{now} {started}");
        }
        let unreadable = Held { written: Some(10_000.0), holder: Holder::read("{") };
        assert_eq!(when_locked(13_000.0, 13_000.0, unreadable, |_| Process::Gone), WhenLocked::Wait(25.0));
        assert_eq!(lock_text(7, 1000.0), r#"{"pid":7,"startedAt":1000}"#);
        let error = LockTimeout { path: "/s/sessions.json.lock".to_owned() };
        assert_eq!(error.to_string(), "timeout acquiring session store lock: /s/sessions.json.lock");
    }
}
