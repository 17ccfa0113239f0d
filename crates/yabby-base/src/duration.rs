//! Durations as users write them: `90s`, `1.5h`, or a bare number (`sessions.md` §18).

use crate::text;

pub const MILLISECOND: f64 = 1.0;
pub const MINUTE: f64 = 60_000.0;

/// The duration in milliseconds; a bare number counts `default_unit`.
pub fn parse(written: &str, default_unit: f64) -> Option<u64> {
    let written = text::lower_non_blank(written)?;
    let number = written.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let unit = match &written[number.len()..] {
        "" => default_unit,
        "ms" => MILLISECOND,
        "s" => 1000.0,
        "m" => MINUTE,
        "h" => 60.0 * MINUTE,
        "d" => 24.0 * 60.0 * MINUTE,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let duration = (number.parse::<f64>().ok()? * unit).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    duration.is_finite().then_some(duration as u64)
}

/// A duration for people, in whole units: `1h 30m`.
pub fn parts(ms: f64) -> String {
    const UNITS: [(&str, f64); 5] = [
        ("w", 7.0 * 24.0 * 60.0 * MINUTE),
        ("d", 24.0 * 60.0 * MINUTE),
        ("h", 60.0 * MINUTE),
        ("m", MINUTE),
        ("s", 1000.0),
    ];
    if !ms.is_finite() {
        return "unknown".to_owned();
    }
    if ms < 1000.0 {
        return format!("{}ms", ms.round().max(0.0));
    }
    let mut rest = ms.floor();
    let mut parts = Vec::new();
    for (name, size) in UNITS {
        let count = (rest / size).floor();
        if count > 0.0 {
            parts.push(format!("{count}{name}"));
            rest -= count * size;
        }
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_told_in_whole_units() {
        let table = [
            (250.4, "250ms"),
            (1000.0, "1s"),
            (1_800_000.0, "30m"),
            (5_400_500.0, "1h 30m"),
            (694_861_000.0, "1w 1d 1h 1m 1s"),
            (f64::NAN, "unknown"),
        ];
        for (ms, told) in table {
            assert_eq!(parts(ms), told, "{ms}");
        }
    }

    #[test]
    fn a_duration_is_a_number_and_a_unit() {
        let table = [
            ("10", Some(600_000)),
            (" 90S ", Some(90_000)),
            ("1.5h", Some(5_400_000)),
            ("250ms", Some(250)),
            ("1d", Some(86_400_000)),
            ("-1m", None),
            ("1.", None),
            (".5s", None),
            ("1e3", None),
            ("", None),
        ];
        for (written, duration) in table {
            assert_eq!(parse(written, MINUTE), duration, "{written:?}");
        }
        assert_eq!(parse("2.5", MILLISECOND), Some(3));
    }
}
