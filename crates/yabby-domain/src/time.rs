//! Times as transcripts write and read them (`transcripts.md` §1, §5).

use jiff::Timestamp;

use crate::json::Value;

const DAY: f64 = 86_400_000.0;

/// UTC with milliseconds and `Z`.
pub fn iso(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Epoch milliseconds of a `timestamp` field, as JavaScript's `Date` would have it; `None` where it
/// has no answer.
pub fn of_value(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => parse(text),
        Value::Number(number) => number.as_f64().and_then(of_number),
        Value::Null => Some(0.0),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// A number is the time itself, within the range of `Date`.
pub fn of_number(number: f64) -> Option<f64> {
    const RANGE: f64 = 8.64e15;
    (number.abs() <= RANGE).then_some(number.trunc())
}

/// Epoch milliseconds of an ISO time: a date alone, or with a time of day, which is UTC unless it has
/// an offset. A day past the end of its month runs into the next one.
pub fn parse(text: &str) -> Option<f64> {
    let mut rest = Digits(text.as_bytes());
    let year = rest.year()?;
    let month = if rest.skip(b"-") { rest.number(2)? } else { 1 };
    let day = if rest.skip(b"-") { rest.number(2)? } else { 1 };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let mut time = days_since_epoch(year, month, day) * DAY;
    if rest.skip(b"Tt ") {
        time += rest.time_of_day()?;
    }
    rest.0.is_empty().then_some(time).and_then(of_number)
}

/// What is left to read.
struct Digits<'t>(&'t [u8]);

impl Digits<'_> {
    fn skip(&mut self, any_of: &[u8]) -> bool {
        match self.0.split_first() {
            Some((first, rest)) if any_of.contains(first) => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        let value = number
            .iter()
            .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))?;
        self.0 = rest;
        Some(value)
    }

    /// Four digits, or a sign and six.
    fn year(&mut self) -> Option<i64> {
        if self.skip(b"+") {
            return self.number(6);
        }
        if self.skip(b"-") {
            return self.number(6).filter(|year| *year != 0).map(|year| -year);
        }
        self.number(4)
    }

    fn time_of_day(&mut self) -> Option<f64> {
        let hour = self.number(2)?;
        let minute = if self.skip(b":") { self.number(2)? } else { return None };
        let second = if self.skip(b":") { self.number(2)? } else { 0 };
        let milliseconds = if self.skip(b".") { self.fraction()? } else { 0 };
        let midnight = hour == 24 && minute == 0 && second == 0 && milliseconds == 0;
        if !(midnight || hour < 24) || minute > 59 || second > 59 {
            return None;
        }
        let offset = self.offset()?;
        let whole = ((hour * 60 + minute - offset) * 60 + second) * 1000 + milliseconds;
        #[expect(clippy::cast_precision_loss, reason = "less than two days of milliseconds")]
        return Some(whole as f64);
    }

    /// At least one digit; those after the third do not count.
    fn fraction(&mut self) -> Option<i64> {
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (fraction, rest) = self.0.split_at_checked(digits).filter(|_| digits > 0)?;
        self.0 = rest;
        let digit = |at: usize| i64::from(fraction.get(at).map_or(0, |byte| byte - b'0'));
        Some(digit(0) * 100 + digit(1) * 10 + digit(2))
    }

    /// Minutes east of UTC.
    fn offset(&mut self) -> Option<i64> {
        let east = match self.0.first() {
            None => return Some(0),
            Some(b'Z' | b'z') => {
                self.0 = &self.0[1..];
                return Some(0);
            }
            Some(b'+') => 1,
            Some(b'-') => -1,
            Some(_) => return None,
        };
        self.0 = &self.0[1..];
        let hours = self.number(2)?;
        self.skip(b":");
        let minutes = self.number(2)?;
        (hours < 24 && minutes < 60).then_some(east * (hours * 60 + minutes))
    }
}

/// Days from 1970-01-01, in the Gregorian calendar without end.
fn days_since_epoch(year: i64, month: i64, day: i64) -> f64 {
    // Years begin in March here, so that the leap day is the last of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    #[expect(clippy::cast_precision_loss, reason = "years have at most six digits")]
    return (era * 146_097 + day_of_era - 719_468) as f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_forms_are_read_as_a_javascript_date() {
        let table = [
            ("2026-01-15T09:30:00.000Z", Some(1_768_469_400_000.0)),
            ("2026-01-15T09:30:00.123456Z", Some(1_768_469_400_123.0)),
            ("2026-01-15T09:30:00.1Z", Some(1_768_469_400_100.0)),
            ("2026-01-15T09:30", Some(1_768_469_400_000.0)),
            ("2026-01-15 09:30:00", Some(1_768_469_400_000.0)),
            ("2026-01-15T09:30:00+02:00", Some(1_768_462_200_000.0)),
            ("2026-01-15T24:00:00Z", Some(1_768_521_600_000.0)),
            ("2026-01-15", Some(1_768_435_200_000.0)),
            ("2026-01", Some(1_767_225_600_000.0)),
            ("2026", Some(1_767_225_600_000.0)),
            ("2026-02-30", Some(1_772_409_600_000.0)),
            ("+012026-01-01T00:00:00Z", Some(317_336_745_600_000.0)),
            ("1969-12-31T23:59:59.999Z", Some(-1.0)),
            ("2026-01-32", None),
            ("2026-13-01", None),
            ("2026-01-15T25:00Z", None),
            ("2026-01-15T09:30:00.Z", None),
            ("2026-01-15T09Z", None),
            ("...", None),
            ("", None),
            ("2026-01-15T09:30Zé", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[test]
    fn written_times_have_milliseconds() {
        let time = Timestamp::from_millisecond(1_768_469_400_000).expect("in range");
        assert_eq!(iso(time), "2026-01-15T09:30:00.000Z");
    }
}
