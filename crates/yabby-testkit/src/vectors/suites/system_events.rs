//! `system-events.json`.

use jiff::tz::TimeZone;
use yabby_domain::body::{self, PromptParts};
use yabby_domain::config::Config;
use yabby_domain::json::Value;
use yabby_domain::system_events::{self, SystemEvents};
use yabby_domain::zone;

use super::rows;
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "system-events.json", cases: rows, answer, differences: &[] };

fn answer(case: &Case) -> Option<Value> {
    let text = |field: &str| case.text(field).unwrap_or_default();
    Some(match case.rule.as_str() {
        "prependSystemEvents" => {
            let config = Config::new(case.arg("cfg").clone());
            let host = case.text("tz").and_then(zone::find).unwrap_or(TimeZone::UTC);
            let now = case.arg("now").as_i64().unwrap_or_default();
            let mut events = SystemEvents::default();
            for event in case.arg("events").as_array()?.iter().filter_map(Value::as_str) {
                events.push(event, now);
            }
            let zone = system_events::stamp_zone(&config, &host);
            let lines = system_events::render(&[], &events.drain(), &zone);
            let body = text("prefixedBodyBase");
            let parts = PromptParts { body, system_events: lines.as_deref(), ..PromptParts::default() };
            body::prompt(&parts).into()
        }
        "applySessionHints" => {
            let aborted = case.arg("abortedLastRun") == &Value::Bool(true);
            body::with_session_hints(text("baseBody"), aborted, case.text("messageId")).into()
        }
        _ => return None,
    })
}
