//! What a request tells about the time. Nothing is made up: a day that is not told is not known.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use regex::Regex;
use yabby_domain::json::Value;
use yabby_domain::message::Message;
use yabby_domain::seam::model::ModelRequest;
use yabby_domain::zone::{self, Precision, StampZone};

use super::pattern;

/// The day as `2026-02-03`: the system prompt's, else that of the last message.
pub(super) fn date(request: &ModelRequest) -> Option<String> {
    static TOLD: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"(?i)\b(?:current (?:date|time)|date|today)\b[^\n]{0,40}?\b([0-9]{4}-[0-9]{2}-[0-9]{2})\b")
    });
    let told = TOLD.captures(&request.system).map(|told| told[1].to_owned());
    told.or_else(|| {
        let local = last_time(request)?.to_zoned(zone(request).unwrap_or(TimeZone::UTC));
        Some(local.strftime("%Y-%m-%d").to_string())
    })
}

/// When the last message came, for people.
pub(super) fn last_message(request: &ModelRequest) -> Option<String> {
    let zone = zone(request).map_or(StampZone::Utc, StampZone::Local);
    zone.stamp(last_time(request)?.as_millisecond(), Precision::Minutes)
}

fn last_time(request: &ModelRequest) -> Option<Timestamp> {
    request.messages.iter().rev().find_map(time_of)
}

fn time_of(message: &Message) -> Option<Timestamp> {
    #[expect(clippy::cast_possible_truncation, reason = "a time is a whole number of milliseconds")]
    let milliseconds = message.get("timestamp").and_then(Value::as_f64).filter(|ms| *ms > 0.0)? as i64;
    Timestamp::from_millisecond(milliseconds).ok()
}

/// The zone that the system prompt names.
fn zone(request: &ModelRequest) -> Option<TimeZone> {
    static NAMED: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?im)^time ?zone: *([A-Za-z0-9_+:/-]+)"));
    NAMED.captures(&request.system).and_then(|named| zone::find(&named[1]))
}
