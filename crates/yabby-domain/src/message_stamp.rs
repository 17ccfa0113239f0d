//! The time in front of a message that comes over the gateway (`gateway.md` §5.1): what a model knows of the day
//! and the hour.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use regex::Regex;

use crate::config::Config;
use crate::zone::{Precision, StampZone};

/// The message with the time in front of it, unless it has one.
pub fn stamped(message: &str, now: i64, config: &Config, host: &TimeZone) -> String {
    match stamp(now, config, host) {
        Some(stamp) if !tells_time(message) => format!("[{stamp}] {message}"),
        _ => message.to_owned(),
    }
}

/// `Tue 2026-02-03 12:00 UTC`, where the user is.
fn stamp(now: i64, config: &Config, host: &TimeZone) -> Option<String> {
    let user_zone = config.agents.defaults.user_timezone.as_deref();
    let StampZone::Local(zone) = StampZone::from_setting("user", user_zone, host)? else { return None };
    let day = match Timestamp::from_millisecond(now).ok()?.to_zoned(zone.clone()).weekday() {
        Weekday::Monday => "Mon",
        Weekday::Tuesday => "Tue",
        Weekday::Wednesday => "Wed",
        Weekday::Thursday => "Thu",
        Weekday::Friday => "Fri",
        Weekday::Saturday => "Sat",
        Weekday::Sunday => "Sun",
    };
    Some(format!("{day} {}", StampZone::Local(zone).stamp(now, Precision::Minutes)?))
}

/// Whether a message begins with the time already, or is told it further on.
fn tells_time(message: &str) -> bool {
    #[expect(clippy::unwrap_used, reason = "a constant pattern, which a test compiles")]
    static ENVELOPE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\[[^\n]*\d{4}-\d{2}-\d{2} \d{2}:\d{2}").unwrap());
    ENVELOPE.is_match(message) || message.contains("Current time: ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_is_told_the_time_once() {
        let now = 1_770_120_000_000; // 2026-02-03 12:00 UTC
        let here = Config::new(json!({}));
        let there = Config::new(json!({"agents": {"defaults": {"userTimezone": "America/New_York"}}}));
        let table = [
            (&here, "hello", "[Tue 2026-02-03 12:00 UTC] hello"),
            (&there, "hello", "[Tue 2026-02-03 07:00 EST] hello"),
            (&here, "[Tue 2026-02-03 11:00 UTC] hello", "[Tue 2026-02-03 11:00 UTC] hello"),
            (&here, "[Telegram Ann 2026-02-03 11:00 UTC] hello", "[Telegram Ann 2026-02-03 11:00 UTC] hello"),
            (&here, "do it\nCurrent time: noon", "do it\nCurrent time: noon"),
            (&here, "[x] 2026", "[Tue 2026-02-03 12:00 UTC] [x] 2026"),
        ];
        for (config, message, expected) in table {
            assert_eq!(stamped(message, now, config, &TimeZone::UTC), expected);
        }
    }
}
