//! The write lock beside a transcript (`transcripts.md` §7.4).
//!
//! A file that only one process can create, and that says who did. Locks of processes that died, and
//! locks that are older than any run, are in nobody's hands.

use std::time::Duration;

use jiff::Timestamp;

use super::time;
use crate::json::{self, Value};

/// How long to wait for a lock.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// A holder that goes on for longer than this writes its lock anew, so that it does not look old.
pub const REFRESH_AFTER: Duration = Duration::from_secs(600);

/// A lock older than this is nobody's.
const STALE_MS: f64 = 1_800_000.0;

/// The lock of a transcript whose folder has been resolved through symlinks.
pub fn lock_file(transcript: &str) -> String {
    format!("{transcript}.lock")
}

/// What the holder writes into the lock.
pub fn lock_text(pid: u32, now: Timestamp) -> String {
    format!("{{\n  \"pid\": {pid},\n  \"createdAt\": \"{}\"\n}}", time::iso(now))
}

/// Who a lock says it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    pub pid: i64,
    created_at: Option<i64>,
}

impl Holder {
    /// The holder in the text of a lock; `None` if it cannot be read.
    pub fn read(lock: &str) -> Option<Self> {
        let lock = json::parse(lock).ok()?;
        let pid = lock.get("pid")?.as_f64()?;
        let created_at = lock.get("createdAt").and_then(Value::as_str)?;
        #[expect(clippy::cast_possible_truncation, reason = "saturates; no process has such an id")]
        return Some(Self { pid: pid as i64, created_at: time::parse(created_at).map(|ms| ms as i64) });
    }

    /// When it got the lock, in epoch milliseconds.
    pub fn created_at(&self) -> Option<i64> {
        self.created_at
    }
}

/// What to do about a lock that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Nobody holds it: remove it and try again.
    Remove,
    Wait,
}

/// Decides over a lock; `is_alive` tells whether a process runs.
pub fn taken(holder: Option<Holder>, now: Timestamp, is_alive: impl FnOnce(i64) -> bool) -> Taken {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of this age of the world")]
    let is_fresh = |created: i64| now.as_millisecond() as f64 - created as f64 <= STALE_MS;
    match holder {
        Some(Holder { pid, created_at: Some(created) }) if is_fresh(created) && pid > 0 && is_alive(pid) => {
            Taken::Wait
        }
        _ => Taken::Remove,
    }
}

/// How long to wait before the next attempt; the first attempt is number one.
pub fn retry_delay(attempt: u32) -> Duration {
    Duration::from_millis(u64::from(attempt).saturating_mul(50).min(1000))
}

/// The lock could not be had in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("session file locked (timeout {}ms): {} {lock_file}", timeout.as_millis(), owner(*holder))]
pub struct Locked {
    pub timeout: Duration,
    pub holder: Option<Holder>,
    pub lock_file: String,
}

fn owner(holder: Option<Holder>) -> String {
    match holder.filter(|holder| holder.pid != 0) {
        Some(holder) => format!("pid={}", holder.pid),
        None => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_768_469_400_000;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(ms).expect("in range")
    }

    #[test]
    fn a_lock_holds_while_its_process_lives_and_it_is_not_too_old() {
        use Taken::{Remove, Wait};
        let lock = lock_text(7, at(NOW_MS));
        assert_eq!(lock, "{\n  \"pid\": 7,\n  \"createdAt\": \"2026-01-15T09:30:00.000Z\"\n}");
        //  lock                                   later      alive  decision
        let table = [
            (lock.as_str(), 0, true, Wait),
            (&lock, 1_800_000, true, Wait),
            (&lock, 1_800_001, true, Remove),
            (&lock, 0, false, Remove),
            ("", 0, true, Remove),
            (r#"{"pid":"7","createdAt":"2026-01-15T09:30:00.000Z"}"#, 0, true, Remove),
            (r#"{"pid":0,"createdAt":"2026-01-15T09:30:00.000Z"}"#, 0, true, Remove),
            (r#"{"pid":7,"createdAt":"yesterday"}"#, 0, true, Remove),
            (r#"{"pid":7}"#, 0, true, Remove),
        ];
        for (lock, later, alive, expected) in table {
            assert_eq!(taken(Holder::read(lock), at(NOW_MS + later), |_| alive), expected, "{lock} {later}");
        }
    }

    #[test]
    fn waiting_gets_longer_and_ends_with_a_name() {
        let delays = [1, 2, 20, 21, u32::MAX].map(|attempt| retry_delay(attempt).as_millis());
        assert_eq!(delays, [50, 100, 1000, 1000, 1000]);
        let holder = Holder::read(&lock_text(7, at(NOW_MS)));
        let locked =
            |holder| Locked { timeout: TIMEOUT, holder, lock_file: lock_file("/s.jsonl") }.to_string();
        assert_eq!(locked(holder), "session file locked (timeout 10000ms): pid=7 /s.jsonl.lock");
        assert_eq!(locked(None), "session file locked (timeout 10000ms): unknown /s.jsonl.lock");
    }
}
