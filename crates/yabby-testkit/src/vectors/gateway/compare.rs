//! Whether a recording of ours is one of the same scenario: the rules of `vectors/gateway/compare.py`, telling
//! every difference and not only the first.

use std::collections::BTreeSet;

use yabby_domain::json::{Object, Value};

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
    // What a promise foresees is no surprise.
    let broken = ours.broken.iter().filter(|problem| !recorded.broken.contains(problem));
    let mut found = Found(broken.map(|problem| format!("invariant: {problem}")).collect());
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
            (Value::Object(one), Value::Object(other)) if are_strangers(one, other) => {
                self.0.push(format!("{path}: expected {}, got {}", shown(recorded), shown(ours)));
            }
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

/// Whether two objects have more keys apart than in common: then they are told as a whole.
fn are_strangers(recorded: &Object, ours: &Object) -> bool {
    let common = recorded.keys().filter(|key| ours.contains_key(*key)).count();
    let (missing, unexpected) = (recorded.len() - common, ours.len() - common);
    missing > 0 && unexpected > 0 && missing + unexpected > common
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::gateway::recordings;
    use serde_json::json;

    fn recording(name: &str) -> Scenario {
        let mut all = recordings().into_iter();
        all.find(|(other, _)| *other == format!("{name}.jsonl")).expect("it is recorded").1
    }

    #[test]
    fn a_recording_is_one_of_its_own_scenario() {
        for (name, scenario) in recordings().into_iter().filter(|(_, scenario)| scenario.is_replayed()) {
            assert_eq!(differences(&scenario, &scenario), Vec::<String>::new(), "{name}");
        }
    }

    /// What a gateway might do wrong, and a word of what is said about it.
    #[test]
    fn what_a_gateway_does_wrong_is_told() {
        type Wrong = fn(&mut Vec<Value>);
        let table: [(&str, &str, Wrong, &str); 14] = [
            (
                "agent-errors",
                "another text of an error",
                |lines| change(lines, "/frame/error/message", "x"),
                "error/message: expected",
            ),
            (
                "agent-errors",
                "another code of an error",
                |lines| change(lines, "/frame/error/code", "X"),
                "error/code: expected",
            ),
            (
                "agent-simple",
                "a key too much",
                |lines| change(lines, "/frame/payload/extra", "x"),
                "unexpected key extra",
            ),
            (
                "agent-simple",
                "a run that nobody saw",
                |lines| lines.retain(|line| !is_event(line, "agent") && !is_event(line, "chat")),
                "expected {\"type\":\"event\"",
            ),
            (
                "hs-remote-pair-approve",
                "no lane",
                |lines| lines.retain(|line| !is_event(line, "presence")),
                "lane event:presence: missing",
            ),
            (
                "hs-token-no-device",
                "a lane too much",
                |lines| lines.insert(2, event("cron", &json!({}))),
                "lane event:cron: unexpected",
            ),
            (
                "agent-simple",
                "the final answer before the run has ended",
                |lines| swap_last_events(lines),
                "expected",
            ),
            (
                "agent-simple",
                "no chat delta",
                |lines| lines.retain(|line| !is_chat(line, "delta")),
                "key chatDelta missing",
            ),
            (
                "agent-simple",
                "a chat delta that was never said",
                |lines| change_chat(lines, "/frame/payload/message/content/0/text", "never"),
                "bad chat delta",
            ),
            (
                "agent-simple",
                "a piece that is not what was added",
                |lines| change(lines, "/frame/payload/data/delta", "never"),
                "bad",
            ),
            (
                "agent-simple",
                "another id for the same session",
                |lines| {
                    change_last(
                        lines,
                        "/frame/payload/result/meta/agentMeta/sessionId",
                        "11111111-1111-4111-8111-111111111112",
                    )
                },
                "sessionId",
            ),
            (
                "agent-simple",
                "a sequence that goes back",
                |lines| {
                    lines
                        .iter_mut()
                        .filter(|line| is_chat(line, "final"))
                        .for_each(|line| line["frame"]["seq"] = json!(1))
                },
                "invariant: conn a: seq 1 after",
            ),
            ("hs-timeout", "another way to end", |lines| change(lines, "/close/code", "1008"), "close/code"),
            (
                "events-tick-presence-health",
                "too few ticks",
                |lines| lines.retain(|line| !is_event(line, "tick")),
                "at least 2 expected",
            ),
        ];
        for (name, what, wrong, told) in table {
            let expected = recording(name);
            let mut actual = expected.clone();
            wrong(&mut actual.lines);
            let found = differences(&expected, &actual);
            assert!(found.iter().any(|line| line.contains(told)), "{name}, {what}: {found:#?}");
        }
    }

    #[test]
    fn what_is_free_is_not_told() {
        type Other = fn(&mut Vec<Value>);
        let table: [(&str, &str, Other); 5] = [
            ("agent-simple", "fewer chat deltas", |lines| {
                let first = lines.iter().position(|line| is_chat(line, "delta")).expect("there is one");
                drop(lines.remove(first));
            }),
            ("agent-simple", "no event of health", |lines| lines.retain(|line| !is_event(line, "health"))),
            ("agent-simple", "another version", |lines| {
                change(lines, "/frame/payload/server/version", "1.2.3")
            }),
            ("agent-simple", "another moment", |lines| {
                change(lines, "/frame/payload/acceptedAt", 1_800_000_000_000_u64)
            }),
            ("agent-simple", "another id everywhere", |lines| {
                let text = Value::from(lines.clone()).to_string();
                let text = text
                    .replace("0e4af29a-17d8-4c57-99da-3c33c2deb462", "1e4af29a-17d8-4c57-99da-3c33c2deb462");
                *lines = serde_json::from_str(&text).expect("it is still JSON");
            }),
        ];
        for (name, what, other) in table {
            let expected = recording(name);
            let mut actual = expected.clone();
            other(&mut actual.lines);
            assert_ne!(actual.lines, expected.lines, "{what} changes nothing");
            assert_eq!(differences(&expected, &actual), Vec::<String>::new(), "{what}");
        }
    }

    fn is_event(line: &Value, name: &str) -> bool {
        line["dir"] == "s2c" && line["frame"]["event"] == name
    }

    fn is_chat(line: &Value, state: &str) -> bool {
        is_event(line, "chat") && line["frame"]["payload"]["state"] == state
    }

    fn event(name: &str, payload: &Value) -> Value {
        json!({"dir": "s2c", "conn": "a", "frame": {"type": "event", "event": name, "payload": payload}})
    }

    /// Changes the first line that has something there, or could have.
    fn change(lines: &mut [Value], pointer: &str, to: impl Into<Value>) {
        let (holder, key) = pointer.rsplit_once('/').expect("it names a member");
        let is_new = key == "extra";
        let has = |line: &&mut Value| {
            let heard = line["dir"] == "s2c";
            heard && if is_new { line.pointer(holder).is_some() } else { line.pointer(pointer).is_some() }
        };
        let line = lines.iter_mut().find(has).expect("some line has it");
        line.pointer_mut(holder).expect("it was found")[key] = to.into();
    }

    fn change_last(lines: &mut [Value], pointer: &str, to: &str) {
        let has = |line: &&mut Value| line["dir"] == "s2c" && line.pointer(pointer).is_some();
        let line = lines.iter_mut().rev().find(has).expect("some line has it");
        *line.pointer_mut(pointer).expect("it was found") = to.into();
    }

    fn change_chat(lines: &mut [Value], pointer: &str, to: &str) {
        let line = lines.iter_mut().find(|line| is_chat(line, "delta")).expect("there is one");
        *line.pointer_mut(pointer).expect("it has a text") = to.into();
    }

    /// The second answer to `agent` in the place of the chat's final event, and the other way round.
    fn swap_last_events(lines: &mut [Value]) {
        let last = lines.iter().position(|line| is_chat(line, "final")).expect("a chat ends");
        let is_answer = |line: &Value| line["dir"] == "s2c" && line["frame"]["payload"]["status"] == "ok";
        let answer = lines.iter().position(is_answer).expect("a run ends");
        lines.swap(last, answer);
    }
}
