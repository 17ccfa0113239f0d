//! What comes later: methods that are known by name and answer `UNAVAILABLE`, their events, and the
//! APIs over HTTP.

use serde_json::Value;

use super::scenario::Scenario;

/// Methods, or what their names begin with.
const METHODS: [&str; 14] = [
    "cron.",
    "set-heartbeats",
    "last-heartbeat",
    "wake",
    "tts.",
    "voicewake.",
    "talk.mode",
    "web.login.",
    "browser.",
    "wizard.",
    "update.",
    "poll",
    "skills.install",
    "skills.update",
];
const EVENTS: [&str; 4] = ["cron", "heartbeat", "talk.mode", "voicewake.changed"];
const PATHS: [&str; 4] = ["/v1/", "/tools/invoke", "/hooks", "/api/"];

pub(super) fn is_method(name: &str) -> bool {
    METHODS.iter().any(|later| match later.ends_with('.') {
        true => name.starts_with(later),
        false => name == *later,
    })
}

pub(super) fn is_event(name: &str) -> bool {
    EVENTS.contains(&name)
}

pub(super) fn is_path(path: &str) -> bool {
    PATHS.iter().any(|later| path.starts_with(later))
}

/// Whether a scenario cannot be played without it: it asks for nothing else, waits for its events, or goes on with
/// what it answered.
pub(super) fn is_needed(scenario: &Scenario) -> bool {
    let mut asks_for_later = false;
    let mut asks_for_else = false;
    let mut later_ids: Vec<&str> = Vec::new();
    for step in scenario.steps() {
        if let Some(path) = step["http"]["path"].as_str() {
            asks_for_later |= is_path(path);
            asks_for_else |= !is_path(path);
        }
        if let Some(method) = step["frame"]["method"].as_str().filter(|method| *method != "connect") {
            asks_for_later |= is_method(method);
            asks_for_else |= !is_method(method);
            later_ids.extend(step["frame"]["id"].as_str().filter(|_| is_method(method)));
        }
        let mut conditions = step["after"].as_array().into_iter().flatten();
        let waits = conditions.any(|condition| condition["event"].as_str().is_some_and(is_event));
        let goes_on = later_ids.iter().any(|id| mentions(step, &format!("{{{{res:{id}:")));
        if waits || goes_on {
            return true;
        }
    }
    asks_for_later && !asks_for_else
}

fn mentions(step: &Value, words: &str) -> bool {
    step.to_string().contains(words)
}
