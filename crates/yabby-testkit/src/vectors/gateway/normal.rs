//! What differs from run to run is put out of sight, on both sides alike: numbers that measure, moments, and ids,
//! which are named by the order in which they come, so that it is seen where the same one comes again.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use yabby_domain::json::{Object, Value};

/// Numbers that measure.
const MEASURES: [&str; 14] = [
    "durationMs",
    "uptimeMs",
    "age",
    "ageMs",
    "seq",
    "pid",
    "lastInputSeconds",
    "cursor",
    "mtimeMs",
    "latencyMs",
    "elapsedMs",
    "runtimeMs",
    "created",
    "created_at",
];
/// Fields that are not compared.
const DROPPED: [&str; 3] = ["systemPromptReport", "skillsSnapshot", "stateVersion"];
/// Lists whose order does not count.
const UNORDERED: [&str; 6] = ["presence", "paired", "pending", "nodes", "roles", "scopes"];
/// Moments from here to there are those of the fixtures, the first two days of 2025.
const FIXTURE_TIMES: std::ops::Range<f64> = 1_735_689_600_000.0..1_735_862_400_000.0;
const TIMES: std::ops::Range<f64> = 1.5e12..4e12;

pub(super) fn is_dropped(key: &str) -> bool {
    DROPPED.contains(&key)
}

/// The names of one recording.
#[derive(Default)]
pub(super) struct Normal {
    names: HashMap<(&'static str, String), String>,
}

impl Normal {
    pub(super) fn value(&mut self, value: &Value, key: Option<&str>) -> Value {
        match value {
            Value::Object(object) => self.object(object),
            Value::Array(items) => self.list(items, key),
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or_default();
                if key.is_some_and(|key| MEASURES.contains(&key)) {
                    "<num>".into()
                } else if TIMES.contains(&number) && !FIXTURE_TIMES.contains(&number) {
                    "<ms>".into()
                } else {
                    value.clone()
                }
            }
            Value::String(text) => self.text(text, key).into(),
            Value::Bool(_) | Value::Null => value.clone(),
        }
    }

    fn object(&mut self, object: &Object) -> Value {
        // The size of a log that is followed.
        let is_log = object.contains_key("cursor");
        let members = object.iter().filter(|(key, _)| !is_dropped(key));
        let member = |(key, value): (&String, &Value)| {
            let named = self.text(key, None);
            let value = match is_log && key == "size" && value.is_i64() {
                true => "<num>".into(),
                false => self.value(value, Some(key)),
            };
            (named, value)
        };
        Value::Object(members.map(member).collect())
    }

    fn list(&mut self, items: &[Value], key: Option<&str>) -> Value {
        let mut items: Vec<&Value> = items.iter().collect();
        if key.is_some_and(|key| UNORDERED.contains(&key)) {
            items.sort_by_cached_key(|item| sorted_text(&Self::default().value(item, None)));
        }
        items.into_iter().map(|item| self.value(item, key)).collect()
    }

    fn text(&mut self, text: &str, key: Option<&str>) -> String {
        static UUID: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").ok());
        static ISO: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r"\b(\d{4}-\d\d-\d\d)T\d\d[:-]\d\d[:-]\d\d(\.\d+)?Z").ok());
        static AGO: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\(\d+ minutes ago\)").ok());
        static STAMP: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(r"\[(Mon|Tue|Wed|Thu|Fri|Sat|Sun) (\d{4}-\d\d-\d\d) \d\d:\d\d [A-Z0-9+:-]+\]").ok()
        });
        if key == Some("deviceId") {
            return text.to_owned();
        }
        if is_hex(text, 64) {
            return if key == Some("id") { text.to_owned() } else { self.name("hash", text) };
        }
        if is_hex(text, 32) {
            return self.name("token", text);
        }
        let short = text.strip_prefix("inject-").unwrap_or(text);
        if key.is_some_and(|key| ["id", "parentId", "messageId", "runId"].contains(&key)) && is_hex(short, 8)
        {
            return self.name("id8", short);
        }
        let kept_or =
            |found: &Captures<'_>, date: usize, mark: &str| match found[date].starts_with("2025-01-0") {
                true => found[0].to_owned(),
                false => mark.to_owned(),
            };
        let text = replaced(&UUID, text, |found| match is_fixture(&found[0]) {
            true => found[0].to_owned(),
            false => self.name("uuid", &found[0]),
        });
        let text = replaced(&ISO, &text, |found| kept_or(found, 1, "<iso>"));
        let text = replaced(&AGO, &text, |_| "(<n> minutes ago)".to_owned());
        replaced(&STAMP, &text, |found| kept_or(found, 2, "[<stamp>]"))
    }

    fn name(&mut self, kind: &'static str, value: &str) -> String {
        let number = self.names.keys().filter(|(other, _)| *other == kind).count() + 1;
        let name = self.names.entry((kind, value.to_owned())).or_insert_with(|| format!("<{kind}#{number}>"));
        name.clone()
    }
}

fn replaced(pattern: &Option<Regex>, text: &str, to: impl FnMut(&Captures<'_>) -> String) -> String {
    match pattern {
        Some(pattern) => pattern.replace_all(text, to).into_owned(),
        None => text.to_owned(),
    }
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The ids that stand in the homes.
fn is_fixture(id: &str) -> bool {
    let first = &id[..8];
    let is_one_digit = first.bytes().all(|byte| Some(byte) == first.bytes().next());
    is_one_digit || first == "c0000000" || id.starts_with("11111111-2222-")
}

/// A text that is the same for values that are equal but for the order of their keys.
fn sorted_text(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_by(|one, other| one.0.cmp(other.0));
            let member = |(key, value): (&String, &Value)| format!("{key:?}: {}", sorted_text(value));
            format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(sorted_text).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ids_are_named_by_their_order_and_fixtures_stay() {
        let value = json!({
            "runId": "0e4af29a-17d8-4c57-99da-3c33c2deb462",
            "path": "/x/0e4af29a-17d8-4c57-99da-3c33c2deb462.jsonl.bak.2026-11-15T20-41-34.338Z",
            "other": "1e4af29a-17d8-4c57-99da-3c33c2deb462",
            "fixture": "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa",
            "id": "deadbeef", "parentId": "deadbeef", "name": "deadbeef",
            "ts": 1_794_774_813_342_u64, "then": 1_735_689_600_001_u64, "seq": 4, "stateVersion": 1,
            "scopes": ["b", "a"], "said": "[Sun 2026-11-15 20:41 UTC] hi (3 minutes ago)",
        });
        let expected = json!({
            "runId": "<uuid#1>",
            "path": "/x/<uuid#1>.jsonl.bak.<iso>",
            "other": "<uuid#2>",
            "fixture": "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa",
            "id": "<id8#1>", "parentId": "<id8#1>", "name": "deadbeef",
            "ts": "<ms>", "then": 1_735_689_600_001_u64, "seq": "<num>",
            "scopes": ["a", "b"], "said": "[<stamp>] hi (<n> minutes ago)",
        });
        assert_eq!(Normal::default().value(&value, None), expected);
    }
}
