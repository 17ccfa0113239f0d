//! Time stamps and the zones they are written in (`sessions.md` §12).
//!
//! The reference formats with ICU's en-US locale. There a zone has a short name only where Americans
//! use one; elsewhere the name is the distance from Greenwich. The IANA abbreviations tell the two
//! apart almost everywhere; the rest is a table of exceptions below, learned by comparing all zones
//! over all their transitions.

use std::ops::Range;
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

use crate::text;

/// The largest distance from 1970 that a JavaScript date can have, in milliseconds.
const MAX_DATE: u64 = 8_640_000_000_000_000;

/// The zone that a time stamp is written in.
#[derive(Clone, Debug, PartialEq)]
pub enum StampZone {
    /// `2026-02-03T12:00Z`
    Utc,
    /// `2026-02-03 13:00 GMT+1`
    Local(TimeZone),
}

/// How fine a time stamp is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Minutes,
    Seconds,
}

impl StampZone {
    /// The zone that a setting names: `utc`, `local` (or nothing), `user`, or a zone by its name.
    /// `None` if there is no such zone.
    pub fn from_setting(setting: &str, user_zone: Option<&str>, host: &TimeZone) -> Option<Self> {
        let setting = text::trim(setting);
        Some(match text::lower(setting).as_str() {
            "utc" | "gmt" => Self::Utc,
            "" | "local" | "host" => Self::Local(host.clone()),
            "user" => {
                let configured = user_zone.and_then(text::non_blank).and_then(find);
                Self::Local(configured.unwrap_or_else(|| host.clone()))
            }
            _ => Self::Local(find(setting)?),
        })
    }

    /// The moment `ms` milliseconds after 1970, unless no calendar reaches it.
    pub fn stamp(&self, ms: i64, precision: Precision) -> Option<String> {
        if ms.unsigned_abs() > MAX_DATE {
            return None;
        }
        let seconds = ms.div_euclid(1000);
        Some(match self {
            Self::Utc => {
                let Clock { year, month, day, hour, minute, second } = Clock::at(seconds);
                let seconds = seconds_part(second, precision);
                format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}{seconds}Z")
            }
            Self::Local(zone) => {
                let (offset, name) = at_offset(zone, seconds);
                let Clock { year, month, day, hour, minute, second } = Clock::at(seconds + offset);
                // A year before the first counts backwards, and the era is not written.
                let year = if year > 0 { year } else { 1 - year };
                let seconds = seconds_part(second, precision);
                format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}{seconds} {name}")
            }
        })
    }
}

fn seconds_part(second: i64, precision: Precision) -> String {
    match precision {
        Precision::Minutes => String::new(),
        Precision::Seconds => format!(":{second:02}"),
    }
}

/// The zone of that name, in any case: IANA's, one of the old three-letter ones, or a distance such
/// as `+05:30`.
pub fn find(name: &str) -> Option<TimeZone> {
    static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
    if let Some(zone) = distance(name) {
        return Some(zone);
    }
    let lowered = text::lower(name);
    if ["factory", "etc/unknown"].contains(&lowered.as_str()) {
        return None;
    }
    let old = OLD_NAMES.iter().find(|(old, _)| old.eq_ignore_ascii_case(name));
    ZONES.get(old.map_or(name, |(_, name)| name)).ok()
}

/// A zone at a fixed distance: `+05:30`, `+0530` or `-08`.
fn distance(name: &str) -> Option<TimeZone> {
    let (sign, digits) = match name.chars().next()? {
        '+' => (1, &name[1..]),
        '-' => (-1, &name[1..]),
        '\u{2212}' => (-1, &name['\u{2212}'.len_utf8()..]),
        _ => return None,
    };
    let (hours, minutes) = match digits.len() {
        2 => (digits, "00"),
        4 if digits.is_ascii() => digits.split_at(2),
        5 => digits.split_once(':')?,
        _ => return None,
    };
    let number = |part: &str| match part.as_bytes() {
        [a @ b'0'..=b'9', b @ b'0'..=b'9'] => Some(i32::from(a - b'0') * 10 + i32::from(b - b'0')),
        _ => None,
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    match sign * (hours * 3600 + minutes * 60) {
        // A fixed distance of nothing would be called UTC.
        0 => find("Etc/Greenwich"),
        seconds => Offset::from_seconds(seconds).ok().map(TimeZone::fixed),
    }
}

/// Names older than IANA's that are still understood.
const OLD_NAMES: [(&str, &str); 26] = [
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Maputo"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Nairobi"),
    ("ECT", "Europe/Paris"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("VST", "Asia/Ho_Chi_Minh"),
    ("US/Pacific-New", "America/Los_Angeles"),
];

/// The distance from Greenwich in seconds, and the short name of the zone, at a moment.
fn at_offset(zone: &TimeZone, seconds: i64) -> (i64, String) {
    let within = seconds.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    let Ok(moment) = Timestamp::from_second(within) else {
        return (0, "UTC".to_owned());
    };
    let info = zone.to_offset_info(moment);
    let offset = i64::from(info.offset().seconds());
    let name = short_name(zone.iana_name().unwrap_or_default(), info.abbreviation(), offset, within);
    (offset, name)
}

/// Abbreviations that are names in en-US, too.
const AMERICAN: [&str; 13] =
    ["AST", "ADT", "EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "AKST", "AKDT", "HST"];

fn short_name(zone: &str, abbreviation: &str, offset: i64, seconds: i64) -> String {
    let exception = EXCEPTIONS
        .iter()
        .filter(|exception| exception.time.contains(&seconds) && exception.zones.contains(&zone))
        .find_map(|exception| exception.names.iter().find(|(parting, _)| *parting == abbreviation));
    match exception {
        Some((_, Some(name))) => (*name).to_owned(),
        Some((_, None)) => distance_name(offset),
        None if abbreviation == "UTC" || UTC_NAMES.contains(&zone) => "UTC".to_owned(),
        // Names begin with 1970. East of Greenwich the abbreviations mean China and the Philippines.
        None if seconds >= 0 && offset < 0 && AMERICAN.contains(&abbreviation) => abbreviation.to_owned(),
        None if seconds >= 0 && offset == 0 && abbreviation == "GMT" => "GMT".to_owned(),
        None => distance_name(offset),
    }
}

/// `GMT+1`, `GMT-3:30`, and to the second where clocks once followed the sun.
fn distance_name(offset: i64) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let (hours, minutes, seconds) = (offset.abs() / 3600, offset.abs() / 60 % 60, offset.abs() % 60);
    match (minutes, seconds) {
        (0, 0) => format!("GMT{sign}{hours}"),
        (_, 0) => format!("GMT{sign}{hours}:{minutes:02}"),
        _ => format!("GMT{sign}{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// Zones that are UTC under another name.
const UTC_NAMES: [&str; 5] = ["GMT", "GMT0", "GMT+0", "GMT-0", "Etc/GMT"];

/// Where the abbreviations of zones and their en-US names part, for a time.
struct Exception {
    zones: &'static [&'static str],
    time: Range<i64>,
    /// Abbreviation and name; no name: the distance from Greenwich.
    names: &'static [(&'static str, Option<&'static str>)],
}

const ALWAYS: Range<i64> = 0..i64::MAX;
const OCTOBER_1974: i64 = 152_082_000;
const APRIL_1998: i64 = 891_766_800;
const NOVEMBER_2020: i64 = 1_604_214_000;
const NOVEMBER_2022: i64 = 1_669_788_000;
const NOVEMBER_2026: i64 = 1_793_520_000;

const EXCEPTIONS: [Exception; 9] = [
    Exception { zones: &["America/Havana", "Cuba"], time: ALWAYS, names: &[("CST", None), ("CDT", None)] },
    Exception {
        zones: &["America/Hermosillo", "America/Mazatlan", "Mexico/BajaSur"],
        time: ALWAYS,
        names: &[("MST", None), ("MDT", None)],
    },
    Exception {
        zones: &["America/Chihuahua", "America/Ciudad_Juarez"],
        time: APRIL_1998..NOVEMBER_2022,
        names: &[("MST", None), ("MDT", None)],
    },
    Exception {
        zones: &["America/Dawson", "America/Whitehorse", "Canada/Yukon"],
        time: NOVEMBER_2020..i64::MAX,
        names: &[("MST", None)],
    },
    Exception { zones: &["America/Santo_Domingo"], time: 0..OCTOBER_1974, names: &[("EST", None)] },
    Exception {
        zones: &["America/Adak", "America/Atka", "US/Aleutian"],
        time: ALWAYS,
        names: &[("HST", Some("HAST")), ("HDT", Some("HADT"))],
    },
    Exception {
        zones: &["America/Vancouver", "Canada/Pacific"],
        time: NOVEMBER_2026..i64::MAX,
        names: &[("MST", Some("PDT"))],
    },
    Exception {
        zones: &["America/Edmonton", "America/Yellowknife", "Canada/Mountain"],
        time: NOVEMBER_2026..i64::MAX,
        names: &[("CST", Some("MDT"))],
    },
    Exception {
        zones: &["Antarctica/Troll"],
        time: ALWAYS,
        names: &[("-00", Some("GMT")), ("+00", Some("GMT"))],
    },
];

/// Calendar and clock of a moment; the calendar is Gregorian at all times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clock {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
}

impl Clock {
    /// `seconds` after 1970. JavaScript's years go far beyond those of a calendar library.
    fn at(seconds: i64) -> Self {
        const DAYS_BEFORE_1970: i64 = 719_468;
        const DAYS_IN_400_YEARS: i64 = 146_097;
        let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        // Years that begin in March have the leap day at their end.
        let since_march_0 = days + DAYS_BEFORE_1970;
        let era = since_march_0.div_euclid(DAYS_IN_400_YEARS);
        let day_of_era = since_march_0.rem_euclid(DAYS_IN_400_YEARS);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Self {
            year: era * 400 + year_of_era + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            hour: time / 3600,
            minute: time / 60 % 60,
            second: time % 60,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINTER: i64 = 1_770_120_000_000; // 2026-02-03T12:00Z
    const SUMMER: i64 = 1_783_206_309_000; // 2026-07-04T23:05:09Z

    #[test]
    fn stamps_name_american_zones_and_count_from_greenwich_elsewhere() {
        let table = [
            ("utc", WINTER, "2026-02-03T12:00Z"),
            ("Etc/UTC", WINTER, "2026-02-03 12:00 UTC"),
            ("Etc/GMT", WINTER, "2026-02-03 12:00 UTC"),
            ("europe/london", WINTER, "2026-02-03 12:00 GMT"),
            ("Europe/Lisbon", WINTER, "2026-02-03 12:00 GMT+0"),
            ("Europe/London", SUMMER, "2026-07-05 00:05 GMT+1"),
            ("America/New_York", WINTER, "2026-02-03 07:00 EST"),
            ("US/Pacific", SUMMER, "2026-07-04 16:05 PDT"),
            ("PST", SUMMER, "2026-07-04 16:05 PDT"),
            ("Pacific/Honolulu", SUMMER, "2026-07-04 13:05 HST"),
            ("America/Adak", SUMMER, "2026-07-04 14:05 HADT"),
            ("America/Havana", WINTER, "2026-02-03 07:00 GMT-5"),
            ("America/Whitehorse", WINTER, "2026-02-03 05:00 GMT-7"),
            ("Asia/Shanghai", WINTER, "2026-02-03 20:00 GMT+8"),
            ("Asia/Kolkata", SUMMER, "2026-07-05 04:35 GMT+5:30"),
            ("+0530", SUMMER, "2026-07-05 04:35 GMT+5:30"),
            ("-00:00", SUMMER, "2026-07-04 23:05 GMT"),
            ("America/New_York", -1, "1969-12-31 18:59 GMT-5"),
            ("America/New_York", -3_000_000_000_000, "1874-12-07 13:43 GMT-4:56:02"),
            ("UTC", 8_640_000_000_000_000, "275760-09-13T00:00Z"),
            ("Asia/Tokyo", -62_198_755_200_000, "2-01-01 09:18 GMT+9:18:59"),
        ];
        for (setting, ms, expected) in table {
            let zone = StampZone::from_setting(setting, None, &TimeZone::UTC).expect(setting);
            assert_eq!(zone.stamp(ms, Precision::Minutes).as_deref(), Some(expected), "{setting} {ms}");
        }
        assert_eq!(StampZone::Utc.stamp(SUMMER, Precision::Seconds).as_deref(), Some("2026-07-04T23:05:09Z"));
        assert_eq!(StampZone::Utc.stamp(8_640_000_000_000_001, Precision::Seconds), None);
    }

    #[test]
    fn a_setting_names_a_zone_or_nothing() {
        let host = find("Asia/Tokyo").unwrap();
        let tokyo = Some(StampZone::Local(host.clone()));
        let vienna = Some(StampZone::Local(find("Europe/Vienna").unwrap()));
        let table = [
            (" ", None, tokyo.clone()),
            ("HOST", None, tokyo.clone()),
            ("user", Some("Europe/Vienna"), vienna),
            ("user", Some("No/Where"), tokyo.clone()),
            ("user", None, tokyo),
            ("No/Where", None, None),
            ("Etc/Unknown", None, None),
            ("Factory", None, None),
            ("+5", None, None),
            ("+24:00", None, None),
            ("+1é", None, None),
            ("GMT", None, Some(StampZone::Utc)),
        ];
        for (setting, user, zone) in table {
            assert_eq!(StampZone::from_setting(setting, user, &host), zone, "{setting} {user:?}");
        }
    }
}
