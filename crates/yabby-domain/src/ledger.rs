//! What every call of a model used and cost, written down call by call, and what that comes to
//! (`sessions.md` §14, §16).
//!
//! The record of a session knows the size of its last prompt. This is the other thing: everything that was
//! ever asked of a model, by whom and for how much.

use std::cmp::Reverse;

use indexmap::IndexMap;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::json;
use crate::usage::Usage;

/// One call of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// When it ended, in milliseconds since 1970.
    pub at: i64,
    pub session_key: String,
    pub session_id: String,
    pub agent: String,
    pub provider: String,
    pub model: String,
    pub purpose: Purpose,
    /// Tokens that were read anew.
    #[serde(default)]
    pub input: u64,
    #[serde(default)]
    pub output: u64,
    #[serde(default)]
    pub cache_read: u64,
    #[serde(default)]
    pub cache_write: u64,
    /// Dollars; `None` where nobody knows the price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The turn that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    #[serde(default)]
    pub duration_ms: u64,
    /// Whose message it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
}

/// What a model was called for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Purpose {
    /// To answer a message.
    #[default]
    Turn,
    /// To write down what is worth remembering.
    Flush,
    /// To summarise what no longer fits.
    Summary,
}

impl Purpose {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Flush => "flush",
            Self::Summary => "summary",
        }
    }
}

impl CallRecord {
    /// With the tokens that a provider told of; what it did not tell, or told badly, is none.
    pub fn with_usage(mut self, usage: &Usage) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "what does not fit becomes the nearest number that does"
        )]
        let tokens = |told: Option<f64>| told.unwrap_or(0.0) as u64;
        self.input = tokens(usage.input);
        self.output = tokens(usage.output);
        self.cache_read = tokens(usage.cache_read);
        self.cache_write = tokens(usage.cache_write);
        self
    }

    /// The record as a line, without its line feed.
    pub fn line(&self) -> String {
        // Nothing in a record can fail to become a value: a number that JSON does not have becomes null.
        json::stringify(&serde_json::to_value(self).unwrap_or_default())
    }

    /// The record on a line; `None` if it is not one.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_value(json::parse(line).ok()?).ok()
    }

    /// The month whose file it belongs to, e.g. `2026-02`. Months change in Greenwich, so that no two
    /// processes disagree.
    pub fn month(&self) -> String {
        month(self.at)
    }

    fn model_name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }
}

/// The month of a moment, e.g. `2026-02`.
pub fn month(at: i64) -> String {
    day(at, &TimeZone::UTC).strftime("%Y-%m").to_string()
}

/// The day of a moment; what is beyond the calendar is on its first or its last day.
pub fn day(at: i64, zone: &TimeZone) -> Date {
    let end = if at < 0 { Timestamp::MIN } else { Timestamp::MAX };
    zone.to_datetime(Timestamp::from_millisecond(at).unwrap_or(end)).date()
}

/// What many calls come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    pub calls: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Dollars, as far as prices are known.
    pub cost: f64,
    /// Calls whose price nobody knows.
    pub unpriced: u64,
    pub duration_ms: u64,
}

impl Totals {
    pub fn of<'c>(calls: impl IntoIterator<Item = &'c CallRecord>) -> Self {
        let mut totals = Self::default();
        calls.into_iter().for_each(|call| totals.add(call));
        totals
    }

    pub fn add(&mut self, call: &CallRecord) {
        let plus = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        plus(&mut self.calls, 1);
        plus(&mut self.input, call.input);
        plus(&mut self.output, call.output);
        plus(&mut self.cache_read, call.cache_read);
        plus(&mut self.cache_write, call.cache_write);
        plus(&mut self.duration_ms, call.duration_ms);
        match call.cost.filter(|cost| cost.is_finite()) {
            Some(cost) => self.cost += cost,
            None => plus(&mut self.unpriced, 1),
        }
    }

    /// Everything that models read, from a cache or not.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    pub fn tokens(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// How much of the prompts came from a cache, from 0 to 1; `None` without any.
    pub fn cache_share(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a share is never that exact")]
        let share = |part: u64, whole: u64| part as f64 / whole as f64;
        (self.prompt() > 0).then(|| share(self.cache_read, self.prompt()))
    }
}

/// What calls are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    Day,
    /// `<provider>/<model>`
    Model,
    /// The key of the session.
    Session,
}

/// One of the groups, and what its calls come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub name: String,
    pub totals: Totals,
}

/// What the calls of each group come to: days in their order, of the others the dearest first, and where
/// nothing has a price, the largest.
pub fn rows<'c>(calls: impl IntoIterator<Item = &'c CallRecord>, by: Grouping, zone: &TimeZone) -> Vec<Row> {
    let mut groups: IndexMap<String, Totals> = IndexMap::new();
    for call in calls {
        let name = match by {
            Grouping::Day => day(call.at, zone).to_string(),
            Grouping::Model => call.model_name(),
            Grouping::Session => call.session_key.clone(),
        };
        groups.entry(name).or_default().add(call);
    }
    let mut rows: Vec<Row> = groups.into_iter().map(|(name, totals)| Row { name, totals }).collect();
    match by {
        Grouping::Day => rows.sort_by(|one, other| one.name.cmp(&other.name)),
        Grouping::Model | Grouping::Session => rows.sort_by(|one, other| {
            let size = |row: &Row| Reverse(row.totals.tokens());
            let dearest = other.totals.cost.total_cmp(&one.totals.cost);
            dearest.then_with(|| size(one).cmp(&size(other))).then_with(|| one.name.cmp(&other.name))
        }),
    }
    rows
}

/// Which calls are asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// The first day.
    pub since: Option<Date>,
    pub agent: Option<String>,
    /// The key of a session, or its id.
    pub session: Option<String>,
}

impl Filter {
    /// The day with which the last `days` days begin, of which today is one.
    pub fn first_of(days: u32, now: i64, zone: &TimeZone) -> Date {
        let back = jiff::Span::new().try_days(i64::from(days.max(1)) - 1);
        back.and_then(|back| day(now, zone).checked_sub(back)).unwrap_or(Date::MIN)
    }

    pub fn keeps(&self, call: &CallRecord, zone: &TimeZone) -> bool {
        let is_in_time = self.since.is_none_or(|first| day(call.at, zone) >= first);
        let is_agents = self.agent.as_ref().is_none_or(|agent| *agent == call.agent);
        let names = |session: &String| *session == call.session_key || *session == call.session_id;
        is_in_time && is_agents && self.session.as_ref().is_none_or(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn call(session: &str, model: &str, hour: i64, input: u64, cost: Option<f64>) -> CallRecord {
        CallRecord {
            at: hour * HOUR,
            session_key: session.to_owned(),
            session_id: format!("id-{session}"),
            agent: "main".to_owned(),
            provider: "acme".to_owned(),
            model: model.to_owned(),
            input,
            output: 10,
            cost,
            ..CallRecord::default()
        }
    }

    #[test]
    fn every_call_comes_back_from_its_line() {
        let full = CallRecord {
            purpose: Purpose::Summary,
            turn: Some("t-1".to_owned()),
            sender: Some("line\nbreak".to_owned()),
            duration_ms: 5,
            ..call("s", "m", 1, 7, Some(0.001_25))
        };
        for call in [full, call("s", "m", 1, 7, None), CallRecord::default()] {
            let line = call.line();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(CallRecord::parse(&line), Some(call), "{line}");
        }
        assert_eq!(CallRecord::parse("{"), None);
        assert_eq!(CallRecord::parse("{}"), None);
    }

    #[test]
    fn tokens_are_what_the_provider_told_of() {
        let usage =
            Usage { input: Some(3.9), output: Some(-1.0), cache_read: Some(f64::NAN), ..Usage::default() };
        let call = CallRecord::default().with_usage(&usage);
        assert_eq!((call.input, call.output, call.cache_read, call.cache_write), (3, 0, 0, 0));
    }

    #[test]
    fn a_month_ends_in_greenwich_and_a_day_where_the_person_lives() {
        let new_year = 1_767_225_600_000;
        assert_eq!((month(new_year - 1), month(new_year)), ("2025-12".to_owned(), "2026-01".to_owned()));
        assert_eq!(month(i64::MAX), "9999-12");
        let auckland = crate::zone::find("Pacific/Auckland").unwrap();
        assert_eq!(day(new_year - 1, &auckland).to_string(), "2026-01-01");
    }

    #[test]
    fn calls_are_put_together_by_day_model_and_session() {
        let calls = [
            call("b", "small", 30, 100, Some(0.5)),
            call("a", "small", 1, 100, Some(0.25)),
            call("a", "large", 31, 300, Some(3.0)),
            call("c", "free", 31, 900, None),
            call("d", "free", 31, 950, None),
        ];
        let told = |by| {
            let rows = rows(&calls, by, &TimeZone::UTC);
            rows.iter().map(|row| format!("{} {}", row.name, row.totals.calls)).collect::<Vec<_>>()
        };
        assert_eq!(told(Grouping::Day), ["1970-01-01 1", "1970-01-02 4"]);
        assert_eq!(told(Grouping::Model), ["acme/large 1", "acme/small 2", "acme/free 2"]);
        assert_eq!(told(Grouping::Session), ["a 2", "b 1", "d 1", "c 1"]);
        let all = Totals::of(&calls);
        assert_eq!((all.calls, all.input, all.output, all.unpriced), (5, 2350, 50, 2));
        assert_eq!((all.cost, all.tokens()), (3.75, 2400));
    }

    #[test]
    fn the_share_of_the_cache_is_of_everything_that_was_read() {
        let totals = Totals { input: 20, cache_read: 60, cache_write: 20, output: 99, ..Totals::default() };
        assert_eq!(totals.cache_share(), Some(0.6));
        assert_eq!(Totals::default().cache_share(), None);
    }

    #[test]
    fn a_filter_keeps_days_agents_and_sessions() {
        let first = Filter::first_of(2, 50 * HOUR, &TimeZone::UTC);
        assert_eq!(first.to_string(), "1970-01-02");
        let since = Filter { since: Some(first), ..Filter::default() };
        let agent = |id: &str| Filter { agent: Some(id.to_owned()), ..Filter::default() };
        let session = |name: &str| Filter { session: Some(name.to_owned()), ..Filter::default() };
        let table = [
            (Filter::default(), 0, true),
            (since.clone(), 23, false),
            (since, 24, true),
            (agent("main"), 0, true),
            (agent("other"), 0, false),
            (session("a"), 0, true),
            (session("id-a"), 0, true),
            (session("b"), 0, false),
        ];
        for (filter, hour, kept) in table {
            assert_eq!(filter.keeps(&call("a", "m", hour, 1, None), &TimeZone::UTC), kept, "{filter:?}");
        }
        assert_eq!(Filter::first_of(u32::MAX, 0, &TimeZone::UTC), Date::MIN);
        assert_eq!(Filter::first_of(0, 0, &TimeZone::UTC).to_string(), "1970-01-01");
    }
}
