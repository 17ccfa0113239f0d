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

/// A clock that goes with tokio's: in a test whose time is paused, waiting moves it.
#[derive(Debug)]
pub struct StageClock {
    fixed: FixedClock,
    began: tokio::time::Instant,
}

impl StageClock {
    /// At these epoch milliseconds.
    pub fn at(millis: i64) -> Self {
        Self { fixed: FixedClock::at(millis), began: tokio::time::Instant::now() }
    }

    pub fn advance(&self, millis: i64) {
        self.fixed.advance(millis);
    }
}

impl Clock for StageClock {
    fn now(&self) -> Timestamp {
        let waited = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millisecond(self.fixed.now().as_millisecond().saturating_add(waited))
            .unwrap_or_default()
    }
}
