//! The lock beside a store: its file, and what to do when another holds it (`sessions.md` §6).

use crate::json::{self, Object};

const TIMEOUT_MS: f64 = 10_000.0;
const STALE_MS: f64 = 30_000.0;
const POLL_MS: f64 = 25.0;

/// The file that is created to hold the lock, and removed to let go of it.
pub fn lock_path(store: &str) -> String {
    format!("{store}.lock")
}

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

/// `started` is when the first attempt was made, `written` when the lock was, if that can be told.
pub fn when_locked(now: f64, started: f64, written: Option<f64>) -> WhenLocked {
    if now - started > TIMEOUT_MS {
        WhenLocked::GiveUp
    } else if written.is_some_and(|written| now - written > STALE_MS) {
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
            assert_eq!(when_locked(now, started, written), expected, "{now} {started} {written:?}");
        }
        assert_eq!(lock_text(7, 1000.0), r#"{"pid":7,"startedAt":1000}"#);
        let error = LockTimeout { path: lock_path("/s/sessions.json") };
        assert_eq!(error.to_string(), "timeout acquiring session store lock: /s/sessions.json.lock");
    }
}
