//! Whether a store that was read before is still good (`sessions.md` §6).

use crate::json;

const DEFAULT_LIFETIME_MS: f64 = 45_000.0;

/// How long a store that was read may be used again, in milliseconds; 0 means never.
///
/// `setting` is the value of `OPENCLAW_SESSION_CACHE_TTL_MS`: an integer that is not negative.
pub fn lifetime_ms(setting: Option<&str>) -> f64 {
    let given = setting.and_then(json::leading_integer).filter(|ms| *ms >= 0.0);
    given.unwrap_or(DEFAULT_LIFETIME_MS)
}

/// A store as it was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    pub at: f64,
    /// When the file was written, unless there was none.
    pub modified: Option<f64>,
}

impl Reading {
    /// Whether the reading still tells what the file says, which was last written at `modified`.
    pub fn is_good(&self, now: f64, modified: Option<f64>, lifetime_ms: f64) -> bool {
        lifetime_ms > 0.0 && now - self.at <= lifetime_ms && modified == self.modified
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_good_for_a_while_and_until_the_file_changes() {
        let reading = Reading { at: 1000.0, modified: Some(5.0) };
        //  now       modified    lifetime  good
        let table = [
            (46_000.0, Some(5.0), 45_000.0, true),
            (46_001.0, Some(5.0), 45_000.0, false),
            (1000.0, Some(6.0), 45_000.0, false),
            (1000.0, None, 45_000.0, false),
            (1000.0, Some(5.0), 0.0, false),
        ];
        for (now, modified, lifetime, good) in table {
            assert_eq!(reading.is_good(now, modified, lifetime), good, "{now} {modified:?} {lifetime}");
        }
    }

    #[test]
    fn the_lifetime_is_an_integer_or_the_default() {
        let table = [
            (None, 45_000.0),
            (Some(""), 45_000.0),
            (Some("0"), 0.0),
            (Some(" 500ms"), 500.0),
            (Some("-1"), 45_000.0),
            (Some("soon"), 45_000.0),
        ];
        for (setting, lifetime) in table {
            assert_eq!(lifetime_ms(setting), lifetime, "{setting:?}");
        }
    }
}
