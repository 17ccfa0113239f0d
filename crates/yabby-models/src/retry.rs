//! Asking again when it may help, and nobody has heard anything yet.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use yabby_domain::seam::model::ModelErrorKind;

/// How often, and how long between two attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// After the first attempt.
    pub most: usize,
    /// Between the first and the second; it doubles from then on, with some chance in it.
    pub first_wait: Duration,
    /// Whoever wants to be left alone for longer is not asked again.
    pub longest_wait: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self { most: 3, first_wait: Duration::from_millis(500), longest_wait: Duration::from_secs(30) }
    }
}

impl Retries {
    pub fn none() -> Self {
        Self { most: 0, ..Self::default() }
    }

    pub(crate) fn waits(self) -> Waits {
        let backoff = ExponentialBuilder::default()
            .with_min_delay(self.first_wait)
            .with_max_delay(self.longest_wait)
            .with_max_times(self.most)
            .with_jitter()
            .build();
        Waits { backoff, longest: self.longest_wait }
    }
}

/// The waits that are left.
pub(crate) struct Waits {
    backoff: ExponentialBackoff,
    longest: Duration,
}

impl Waits {
    /// How long to wait before another attempt after this failure; `None` if there is none.
    pub(crate) fn after(&mut self, failure: ModelErrorKind) -> Option<Duration> {
        let asked = match failure {
            ModelErrorKind::RateLimited { retry_after } => retry_after.unwrap_or(Duration::ZERO),
            ModelErrorKind::Overloaded | ModelErrorKind::Broken => Duration::ZERO,
            // Silence has been waited for long enough; the others say the same again.
            ModelErrorKind::TimedOut
            | ModelErrorKind::ContextOverflow
            | ModelErrorKind::Auth
            | ModelErrorKind::Billing
            | ModelErrorKind::Refused
            | ModelErrorKind::BadRequest
            | ModelErrorKind::Unavailable => return None,
        };
        if asked > self.longest {
            return None;
        }
        Some(self.backoff.next()?.max(asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_are_bounded_and_honour_what_is_asked() {
        let limited =
            |seconds| ModelErrorKind::RateLimited { retry_after: Some(Duration::from_secs(seconds)) };
        let mut waits = Retries::default().waits();
        let first = waits.after(ModelErrorKind::Overloaded).unwrap();
        assert!((500..=1000).contains(&first.as_millis()), "{first:?}");
        assert_eq!(waits.after(limited(20)), Some(Duration::from_secs(20)));
        let third = waits.after(ModelErrorKind::Broken).unwrap();
        assert!((2000..=4000).contains(&third.as_millis()), "{third:?}");
        assert_eq!(waits.after(ModelErrorKind::Broken), None);
        assert_eq!(Retries::default().waits().after(limited(31)), None);
        assert_eq!(Retries::default().waits().after(ModelErrorKind::Auth), None);
        assert_eq!(Retries::none().waits().after(ModelErrorKind::Broken), None);
    }
}
