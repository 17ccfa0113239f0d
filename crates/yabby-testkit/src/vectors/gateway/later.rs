//! What comes later: methods that are known by name and answer `UNAVAILABLE`, their events, and the
//! APIs over HTTP.

use serde_json::Value;

use super::scenario::Scenario;

/// Methods, or what their names begin with, and what is said instead.
const METHODS: [(&str, &str); 12] = [
    ("cron.", "yabby runs no jobs yet; what is in cron/jobs.json is left as it is"),
    ("set-heartbeats", "yabby has no heartbeat yet that could be woken"),
    ("wake", "yabby has no heartbeat yet that could be woken"),
    ("tts.", "yabby does not speak yet"),
    ("voicewake.", "yabby does not listen to voices yet"),
    ("talk.mode", "yabby does not listen to voices yet"),
    ("web.login.", "yabby serves no channels yet, so that none can be linked"),
    ("browser.", "yabby drives no browser yet"),
    ("wizard.", "yabby has no wizard yet; edit the configuration, or run `yabby setup`"),
    ("update.", "yabby does not update itself; install a newer release, then restart the gateway"),
    ("poll", "yabby serves no channels yet, so that no polls can be sent"),
    (
        "skills.install",
        "yabby installs no programs; install what the skill needs yourself, as `yabby skills info` says",
    ),
];
const EVENTS: [&str; 4] = ["cron", "heartbeat", "talk.mode", "voicewake.changed"];
const PATHS: [&str; 4] = ["/v1/", "/tools/invoke", "/hooks", "/api/"];

/// What is said instead of an answer; `None` if the method is there.
pub(super) fn words(name: &str) -> Option<&'static str> {
    let is_meant = |later: &&(&str, &str)| match later.0.ends_with('.') {
        true => name.starts_with(later.0),
        false => name == later.0,
    };
    METHODS.iter().find(is_meant).map(|(_, words)| *words)
}

pub(super) fn is_method(name: &str) -> bool {
    words(name).is_some()
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
