//! A clock that stands still until somebody moves it.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use yabby_domain::seam::Clock;

#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// At these epoch milliseconds.
    pub fn at(millis: i64) -> Self {
        Self(AtomicI64::new(millis))
    }

    pub fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).unwrap_or_default()
    }
}
