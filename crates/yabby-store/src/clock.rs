//! The system's clock.

use jiff::Timestamp;
use yabby_domain::seam::Clock;

#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Epoch milliseconds, as the reference counts time.
pub(crate) fn millis(clock: &dyn Clock) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of this age of the world")]
    return clock.now().as_millisecond() as f64;
}
