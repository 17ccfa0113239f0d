//! Whether a recording of ours is one of the same scenario: the rules of `vectors/gateway/compare.py`, telling
//! every difference and not only the first.

use std::collections::BTreeSet;

use serde_json::Value;

use super::lanes::{Lane, Lanes};
use super::normal::{Normal, is_dropped};
use super::scenario::Scenario;

/// So many differences are enough.
const TOLD: usize = 12;
/// How much of a value is shown.
const SHOWN: usize = 300;

/// Where `actual` differs from `expected`; empty if it does not.
pub(super) fn differences(expected: &Scenario, actual: &Scenario) -> Vec<String> {
    let shapes = expected.meta.get("shape").cloned().unwrap_or_default();
    let (recorded, ours) = (Lanes::of(expected, &shapes), Lanes::of(actual, &shapes));
    let mut found = Found(ours.broken.iter().map(|problem| format!("invariant: {problem}")).collect());
    found.lanes(&recorded, &ours);
    for (at, (recorded, ours)) in recorded.features.iter().zip(&ours.features).enumerate() {
        for kind in ["methods", "events"] {
            found.subsequence(&recorded[kind], &ours[kind], &format!("hello-ok {} features.{kind}", at + 1));
        }
    }
    for ((name, recorded), (_, ours)) in recorded.shaped.iter().zip(&ours.shaped) {
        found.0.extend(shape_problem(recorded, ours, &format!("shape of {name}")));
    }
    for (at, (recorded, ours)) in recorded.health.iter().zip(&ours.health).enumerate() {
        if !is_empty(recorded) && !is_empty(ours) {
            found.0.extend(shape_problem(recorded, ours, &format!("hello-ok {} snapshot.health", at + 1)));
        }
    }
    found.ambient(&recorded, &ours);
    for (connection, least) in expected.meta["atLeast"].as_object().into_iter().flatten() {
        for (name, least) in least.as_object().into_iter().flatten() {
            let count = ours.ambient.get(&(connection.clone(), name.clone())).map_or(0, Vec::len);
            if (count as u64) < least.as_u64().unwrap_or_default() {
                found.0.push(format!("conn {connection}: {count} {name} events, at least {least} expected"));
            }
        }
    }
    found.0.truncate(TOLD);
    found.0
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

struct Found(Vec<String>);

impl Found {
    fn lanes(&mut self, recorded: &Lanes, ours: &Lanes) {
        let mut names: Vec<&Lane> = recorded.lanes.keys().collect();
        // The same order on both sides, since ids are named as they come.
        names.sort_by_key(|(connection, name)| (name != "wire", connection, name));
        let (mut of_recorded, mut of_ours) = (Normal::default(), Normal::default());
        for name in names {
            let path = format!("conn {} lane {}", name.0, name.1);
            let items = Value::from(recorded.lanes[name].clone());
            match ours.lanes.get(name) {
                None => self.0.push(format!("{path}: missing, expected {}", shown(&items))),
                Some(own) => {
                    let items = of_recorded.value(&items, None);
                    self.equal(&items, &of_ours.value(&own.clone().into(), None), &path);
                }
            }
        }
        for (name, items) in ours.lanes.iter().filter(|(name, _)| !recorded.lanes.contains_key(*name)) {
            let items = Value::from(items.clone());
            self.0.push(format!("conn {} lane {}: unexpected {}", name.0, name.1, shown(&items)));
        }
    }

    fn equal(&mut self, recorded: &Value, ours: &Value, path: &str) {
        match (recorded, ours) {
            (Value::Object(recorded), Value::Object(ours)) => {
                for (key, value) in recorded {
                    match ours.get(key) {
                        Some(own) => self.equal(value, own, &format!("{path}/{key}")),
                        None => self.0.push(format!("{path}: key {key} missing, expected {}", shown(value))),
                    }
                }
                for (key, value) in ours.iter().filter(|(key, _)| !recorded.contains_key(*key)) {
                    self.0.push(format!("{path}: unexpected key {key} = {}", shown(value)));
                }
            }
            (Value::Array(recorded), Value::Array(ours)) => {
                for (at, (recorded, ours)) in recorded.iter().zip(ours).enumerate() {
                    self.equal(recorded, ours, &format!("{path}/{at}"));
                }
                let (items, own) = (recorded.len(), ours.len());
                let longer = if items > own { recorded.get(own) } else { ours.get(items) };
                if let Some(extra) = longer {
                    let extra = shown(extra);
                    self.0.push(format!("{path}: {items} items vs {own}; first extra: {extra}"));
                }
            }
            (Value::Number(recorded), Value::Number(ours)) if recorded.as_f64() == ours.as_f64() => {}
            _ if recorded == ours => {}
            _ => self.0.push(format!("{path}: expected {}, got {}", shown(recorded), shown(ours))),
        }
    }

    /// Ours may have more, in between.
    fn subsequence(&mut self, recorded: &Value, ours: &Value, path: &str) {
        let mut ours = ours.as_array().into_iter().flatten();
        for wanted in recorded.as_array().into_iter().flatten() {
            if !ours.any(|own| own == wanted) {
                self.0.push(format!("{path}: {wanted} missing or out of order"));
                return;
            }
        }
    }

    /// Each has the shape of one that was recorded.
    fn ambient(&mut self, recorded: &Lanes, ours: &Lanes) {
        for ((connection, name), events) in &ours.ambient {
            let known = recorded.ambient.iter().filter(|((_, other), _)| other == name);
            let known: Vec<&Value> = known.flat_map(|(_, events)| events).collect();
            let path = format!("{name} event on {connection}");
            for event in events {
                let mut problems = known.iter().map(|known| shape_problem(known, event, &path));
                let first = problems.next().flatten();
                if let Some(first) = first
                    && !problems.any(|problem| problem.is_none())
                {
                    self.0.push(first);
                }
            }
        }
    }
}

/// Types must be equal, and keys that all recorded elements have must be there; lengths of lists are free.
fn shape_problem(recorded: &Value, ours: &Value, path: &str) -> Option<String> {
    match (recorded, ours) {
        (Value::Array(recorded), Value::Array(ours)) => {
            let first = recorded.first()?;
            let common = common_keys(recorded);
            ours.iter().enumerate().find_map(|(at, own)| {
                if group(own) != group(first) {
                    return Some(format!("{path}/{at}: element type differs"));
                }
                let missing: Vec<&str> =
                    common.iter().filter(|key| own.get(**key).is_none()).copied().collect();
                (!missing.is_empty()).then(|| format!("{path}/{at}: missing keys {missing:?}"))
            })
        }
        (Value::Object(recorded), Value::Object(ours)) => {
            recorded.iter().filter(|(key, _)| !is_dropped(key)).find_map(|(key, value)| match ours.get(key) {
                None => Some(format!("{path}: missing key {key}")),
                Some(own) => shape_problem(value, own, &format!("{path}/{key}")),
            })
        }
        _ if kind(recorded) == kind(ours) => None,
        _ => Some(format!("{path}: {} vs {}", kind(recorded), kind(ours))),
    }
}

/// The keys that all of them have; none if they are no objects.
fn common_keys(items: &[Value]) -> BTreeSet<&str> {
    let keys = |item: &Value| item.as_object().is_some();
    if !items.iter().all(keys) {
        return BTreeSet::new();
    }
    let first = items.first().and_then(Value::as_object).into_iter().flat_map(|first| first.keys());
    let shared = first.filter(|key| !is_dropped(key) && items.iter().all(|item| item.get(*key).is_some()));
    shared.map(String::as_str).collect()
}

/// Elements of a list are of one group if both are objects, lists, or neither.
fn group(value: &Value) -> u8 {
    match value {
        Value::Object(_) => 0,
        Value::Array(_) => 1,
        _ => 2,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}
