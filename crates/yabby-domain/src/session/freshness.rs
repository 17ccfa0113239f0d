//! Whether a session goes on or begins anew: daily and idle resets (`sessions.md` §10).

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use crate::channel::normalize_channel;
use crate::config::Config;
use crate::config::session::reset::SessionReset;
use crate::inbound::ThreadId;
use crate::session::key::SessionKey;
use crate::text;

pub use crate::config::session::reset::ResetMode;

const DEFAULT_HOUR: i8 = 4;
const DEFAULT_IDLE_MINUTES: f64 = 60.0;

/// The kind of conversation that a reset policy is chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetType {
    Dm,
    Group,
    Thread,
}

/// When a session of one kind becomes stale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResetPolicy {
    pub mode: ResetMode,
    /// Hour of the local day at which daily sessions end.
    pub at_hour: i8,
    pub idle_minutes: Option<f64>,
}

/// The reset settings of the configuration's `session` section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResetSettings {
    base: Option<Reset>,
    /// Present even when empty, which already counts as an explicit setting.
    by_type: Option<ByType>,
    by_channel: Vec<(String, Reset)>,
    legacy_idle_minutes: Option<f64>,
}

/// One `reset` object: what it leaves out is decided elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reset {
    mode: Option<ResetMode>,
    at_hour: Option<f64>,
    idle_minutes: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ByType {
    dm: Option<Reset>,
    group: Option<Reset>,
    thread: Option<Reset>,
}

/// The verdict, with the moments it was based on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Freshness {
    pub fresh: bool,
    pub daily_reset_at: Option<f64>,
    pub idle_expires_at: Option<f64>,
}

/// Whether a session last active at `updated_at` is still fresh. Equality is fresh, and so is a
/// session that does not know when it was active.
pub fn freshness(updated_at: Option<f64>, now: f64, policy: &ResetPolicy, zone: &TimeZone) -> Freshness {
    let daily_reset_at = match policy.mode {
        ResetMode::Daily => daily_boundary(now, policy.at_hour, zone),
        ResetMode::Idle => None,
    };
    let idle_expires_at = policy.idle_minutes.and_then(|minutes| Some(updated_at? + minutes * 60_000.0));
    let stale_daily =
        daily_reset_at.zip(updated_at).is_some_and(|(boundary, updated_at)| updated_at < boundary);
    let stale_idle = idle_expires_at.is_some_and(|expires| now > expires);
    Freshness { fresh: !stale_daily && !stale_idle, daily_reset_at, idle_expires_at }
}

/// The last time the local clock showed `at_hour`, in milliseconds; none outside the calendar.
///
/// A wall time that a change to summer time skips is pushed forward, one that occurs twice is the
/// first. When today's boundary was pushed and is still ahead, yesterday's is taken at the pushed
/// wall time: this is how the reference's calendar arithmetic falls out.
pub fn daily_boundary(now: f64, at_hour: i8, zone: &TimeZone) -> Option<f64> {
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and is then out of range")]
    let now_local = Timestamp::from_millisecond(now.floor() as i64).ok()?.to_zoned(zone.clone());
    let today = now_local.date().to_datetime(Time::new(at_hour, 0, 0, 0).ok()?);
    let boundary = zone.to_ambiguous_zoned(today).compatible().ok()?;
    let boundary_ms = milliseconds(&boundary.timestamp());
    if now >= boundary_ms {
        return Some(boundary_ms);
    }
    let yesterday = boundary.datetime().checked_sub(1.day()).ok()?;
    let boundary = zone.to_ambiguous_zoned(yesterday).compatible().ok()?;
    Some(milliseconds(&boundary.timestamp()))
}

#[expect(clippy::cast_precision_loss, reason = "a calendar's milliseconds fit into 53 bits")]
fn milliseconds(time: &Timestamp) -> f64 {
    time.as_millisecond() as f64
}

/// An hour of the day from whatever the configuration holds.
pub fn normalize_hour(raw: Option<f64>) -> i8 {
    match raw {
        #[expect(clippy::cast_possible_truncation, reason = "clamped to the hours of a day")]
        Some(hour) if hour.is_finite() => hour.floor().clamp(0.0, 23.0) as i8,
        _ => DEFAULT_HOUR,
    }
}

impl ResetSettings {
    pub fn from_config(config: &Config) -> Self {
        let session = &config.session;
        let by_channel = session.reset_by_channel.iter().flatten();
        Self {
            base: session.reset.as_ref().map(Reset::of),
            by_type: session.reset_by_type.as_ref().map(|by_type| ByType {
                dm: by_type.dm.as_ref().map(Reset::of),
                group: by_type.group.as_ref().map(Reset::of),
                thread: by_type.thread.as_ref().map(Reset::of),
            }),
            by_channel: by_channel.map(|(name, reset)| (name.clone(), Reset::of(reset))).collect(),
            legacy_idle_minutes: session.idle_minutes.map(f64::from),
        }
    }

    /// The settings for a channel, if it has its own. The keys are channel names in lower case.
    pub fn for_channel(&self, channel: &str) -> Option<Reset> {
        let name = normalize_channel(channel)?;
        self.by_channel.iter().find(|(key, _)| *key == name).map(|(_, reset)| *reset)
    }

    /// The policy for a kind of conversation; a channel's own settings replace all others.
    pub fn policy(&self, kind: ResetType, channel: Option<Reset>) -> ResetPolicy {
        let base = channel.or(self.base);
        let own = match channel {
            Some(_) => None,
            None => self.by_type.and_then(|by_type| by_type.of(kind)),
        };
        let legacy = if channel.is_some() { None } else { self.legacy_idle_minutes };
        let explicit = base.is_some() || self.by_type.is_some();
        let field =
            |pick: fn(&Reset) -> Option<f64>| own.as_ref().and_then(pick).or(base.as_ref().and_then(pick));
        let mode = own.and_then(|reset| reset.mode).or(base.and_then(|reset| reset.mode));
        let mode =
            mode.unwrap_or(if !explicit && legacy.is_some() { ResetMode::Idle } else { ResetMode::Daily });
        let idle_minutes = match field(|reset| reset.idle_minutes).or(legacy) {
            Some(minutes) => Some(minutes.floor().max(1.0)),
            None if mode == ResetMode::Idle => Some(DEFAULT_IDLE_MINUTES),
            None => None,
        };
        ResetPolicy { mode, at_hour: normalize_hour(field(|reset| reset.at_hour)), idle_minutes }
    }
}

impl ByType {
    fn of(self, kind: ResetType) -> Option<Reset> {
        match kind {
            ResetType::Dm => self.dm,
            ResetType::Group => self.group,
            ResetType::Thread => self.thread,
        }
    }
}

impl Reset {
    fn of(reset: &SessionReset) -> Self {
        Self {
            mode: reset.mode,
            at_hour: reset.at_hour.map(f64::from),
            idle_minutes: reset.idle_minutes.map(f64::from),
        }
    }
}

/// The kind of conversation a session is, for the choice of its policy.
pub fn reset_type(key: Option<&SessionKey>, is_group: bool, is_thread: bool) -> ResetType {
    if is_thread || key.is_some_and(SessionKey::is_thread) {
        return ResetType::Thread;
    }
    let group_key = || key.is_some_and(|key| SessionKey::new(text::lower(key.as_str())).is_group());
    if is_group || group_key() { ResetType::Group } else { ResetType::Dm }
}

/// What tells that a message belongs to a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadSigns<'a> {
    pub key: Option<&'a str>,
    pub thread_id: Option<&'a ThreadId>,
    pub thread_label: Option<&'a str>,
    pub starter_body: Option<&'a str>,
    pub parent_key: Option<&'a str>,
}

/// Whether any sign of a thread is there; thread 0 and an empty thread id are signs, too.
pub fn is_thread(signs: &ThreadSigns<'_>) -> bool {
    let said = |text: Option<&str>| text.and_then(text::non_blank).is_some();
    signs.thread_id.is_some()
        || said(signs.thread_label)
        || said(signs.starter_body)
        || said(signs.parent_key)
        || signs.key.is_some_and(|key| SessionKey::new(key).is_thread())
}

impl ResetType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dm => "dm",
            Self::Group => "group",
            Self::Thread => "thread",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> f64 {
        milliseconds(&text.parse().unwrap())
    }

    #[test]
    fn a_day_ends_at_the_hour_of_the_local_clock() {
        //  zone                   now                     hour  boundary
        let table = [
            ("UTC", "2026-02-03T12:00:00Z", 4, "2026-02-03T04:00:00Z"),
            ("UTC", "2026-02-03T03:59:59Z", 4, "2026-02-02T04:00:00Z"),
            ("UTC", "2026-02-03T04:00:00Z", 4, "2026-02-03T04:00:00Z"),
            ("America/Los_Angeles", "2026-02-03T11:00:00Z", 4, "2026-02-02T12:00:00Z"),
            // 02:00 does not exist on this day; the clock goes from 02:00 to 03:00.
            ("America/New_York", "2026-03-08T12:00:00Z", 2, "2026-03-08T07:00:00Z"),
            ("America/New_York", "2026-03-08T06:30:00Z", 2, "2026-03-07T08:00:00Z"),
            // 01:00 exists twice; the first one counts.
            ("America/New_York", "2026-11-01T12:00:00Z", 1, "2026-11-01T05:00:00Z"),
        ];
        for (zone, now, hour, boundary) in table {
            let zone = TimeZone::get(zone).unwrap();
            assert_eq!(daily_boundary(ms(now), hour, &zone), Some(ms(boundary)), "{now} {hour}");
        }
        assert_eq!(daily_boundary(f64::MAX, 4, &TimeZone::UTC), None);
    }

    #[test]
    fn equality_is_fresh() {
        let policy = ResetPolicy { mode: ResetMode::Idle, at_hour: 4, idle_minutes: Some(1.0) };
        let fresh = |updated_at, now| freshness(updated_at, now, &policy, &TimeZone::UTC).fresh;
        assert!(fresh(Some(0.0), 60_000.0));
        assert!(!fresh(Some(0.0), 60_001.0));
        assert!(fresh(None, 60_001.0));
    }

    #[test]
    fn older_group_keys_reset_like_groups() {
        let kind = |key| reset_type(Some(&SessionKey::new(key)), false, false);
        assert_eq!(kind("agent:main:whatsapp-group-1"), ResetType::Group);
        assert_eq!(kind("agent:main:discord-chan-1"), ResetType::Group);
        assert_eq!(kind("agent:main:dm:1"), ResetType::Dm);
        assert_eq!(kind("agent:main:slack:channel:c:Thread:1"), ResetType::Thread);
    }
}
