//! What was fetched or found a short while ago.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use jiff::{SignedDuration, Timestamp};

/// How many things are kept, at most.
const MOST: usize = 100;

/// Shared by the calls of one tool, which may run at the same time; the lock is held for a look or a change.
pub(crate) struct Cache<T>(Mutex<IndexMap<String, Kept<T>>>);

struct Kept<T> {
    thing: T,
    until: Timestamp,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(Mutex::new(IndexMap::new()))
    }
}

impl<T: Clone> Cache<T> {
    pub(crate) fn get(&self, key: &str, now: Timestamp) -> Option<T> {
        let mut all = self.all();
        if all.get(key)?.until <= now {
            all.shift_remove(key);
            return None;
        }
        all.get(key).map(|kept| kept.thing.clone())
    }

    /// Keeps a thing; the oldest makes room for it.
    pub(crate) fn keep(&self, key: String, thing: T, now: Timestamp, minutes: f64) {
        #[expect(clippy::cast_possible_truncation, reason = "saturates")]
        let until = now
            .checked_add(SignedDuration::from_millis((minutes * 60_000.0) as i64))
            .unwrap_or(Timestamp::MAX);
        if until <= now {
            return;
        }
        let mut all = self.all();
        all.shift_remove(&key);
        while all.len() >= MOST {
            all.shift_remove_index(0);
        }
        all.insert(key, Kept { thing, until });
    }

    fn all(&self) -> MutexGuard<'_, IndexMap<String, Kept<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_kept_for_their_time_and_make_room() {
        let cache = Cache::default();
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        cache.keep("a".into(), 1, at(0), 1.0);
        cache.keep("never".into(), 1, at(0), 0.0);
        assert_eq!((cache.get("a", at(59)), cache.get("never", at(0))), (Some(1), None));
        assert_eq!((cache.get("a", at(60)), cache.get("a", at(0))), (None, None));
        for number in 0..=MOST {
            cache.keep(number.to_string(), 1, at(0), 1.0);
        }
        assert_eq!((cache.get("0", at(1)), cache.get("1", at(1))), (None, Some(1)));
        cache.keep("long".into(), 1, at(0), f64::MAX);
        assert_eq!(cache.get("long", at(1_000_000_000)), Some(1));
    }
}
