//! Where our gateway deliberately answers otherwise. `docs/compatibility.md` explains each rule by its name.

mod of_methods;
mod of_runs;

use serde_json::{Value, json};

use super::later;
use super::scenario::Scenario;

/// A deliberate difference.
pub(super) struct Rule {
    pub(super) name: &'static str,
    /// Changes what was recorded into what we promise, where it touches it. It sees nothing of what we did: what it
    /// promises is written out here, or follows from what was asked and recorded.
    promise: fn(&mut Scenario),
}

/// What comes later is known by name, and says that it is not here.
pub(in crate::vectors) const LATER_METHODS: &str = "later-methods-are-unavailable";
/// Tokens, passwords and keys of a configuration stay where they are.
pub(in crate::vectors) const SECRETS: &str = "secrets-are-not-shown";
/// What stands in their place, here and in later releases of the reference.
pub(in crate::vectors) const MARK: &str = "__OPENCLAW_REDACTED__";

pub(super) const RULES: [Rule; 13] = [
    Rule { name: LATER_METHODS, promise: later_methods },
    Rule { name: SECRETS, promise: secrets },
    Rule { name: "an-alias-is-the-session-it-means", promise: aliases },
    Rule { name: "there-is-no-canvas", promise: canvas },
    Rule { name: "chat-commands-answer-in-our-words", promise: of_runs::commands },
    Rule { name: "failures-of-models-say-what-to-do", promise: of_runs::failures },
    Rule { name: "what-was-said-stays-when-a-run-is-stopped", promise: of_runs::aborted },
    Rule { name: "every-run-marks-its-session", promise: of_runs::marks },
    Rule { name: "a-compaction-comes-before-the-next-question", promise: of_runs::compactions },
    Rule { name: "tools-answer-in-our-words", promise: of_runs::tools },
    Rule { name: "channels-are-not-served-yet", promise: of_methods::channels },
    Rule { name: "a-log-is-as-long-as-it-is", promise: of_methods::logs },
    Rule { name: "a-configuration-applies-while-we-run", promise: of_methods::applied },
];

/// What we promise instead of a recording, and the rules that changed it.
pub(super) fn promised(recorded: &Scenario) -> (Scenario, Vec<&'static str>) {
    let mut promised = recorded.clone();
    let mut names = Vec::new();
    for rule in &RULES {
        let before = promised.lines.clone();
        (rule.promise)(&mut promised);
        if promised.lines != before {
            names.push(rule.name);
        }
    }
    (promised, names)
}

/// An answer in a recording: where it is, and to what.
struct Answer {
    line: usize,
    method: String,
    params: Value,
    id: Value,
}

fn answers(scenario: &Scenario) -> Vec<Answer> {
    let mut found = Vec::new();
    for (at, line) in scenario.lines.iter().enumerate() {
        let frame = &line["frame"];
        if line["dir"] != "s2c" || frame["type"] != "res" {
            continue;
        }
        let is_question = |step: &&Value| step["conn"] == line["conn"] && step["frame"]["id"] == frame["id"];
        let Some(question) = scenario.steps().find(is_question) else { continue };
        found.push(Answer {
            line: at,
            method: question["frame"]["method"].as_str().unwrap_or_default().to_owned(),
            params: question["frame"]["params"].clone(),
            id: frame["id"].clone(),
        });
    }
    found
}

/// Known by name, behind the same scopes, and not there yet; nor are their events.
fn later_methods(promised: &mut Scenario) {
    for answer in answers(promised) {
        let Some(words) = later::words(&answer.method) else { continue };
        let frame = &mut promised.lines[answer.line]["frame"];
        let reason = frame["error"]["message"].as_str().unwrap_or_default();
        // Who may ask, and for what, is told first.
        let first = ["missing scope:", "unauthorized role:", "invalid ", "voicewake.set requires"];
        if !first.iter().any(|first| reason.starts_with(first)) {
            *frame = json!({
                "type": "res", "id": answer.id, "ok": false,
                "error": {"code": "UNAVAILABLE", "message": words},
            });
        }
    }
    promised.lines.retain(|line| !line["frame"]["event"].as_str().is_some_and(later::is_event));
}

/// Texts in the homes that only their owner should see.
const SECRET_TEXTS: [&str; 4] = ["tok-vector", "pw-vector", "hook-vector", "sk-stub"];

/// The same mark in the place of every secret of a configuration.
fn secrets(promised: &mut Scenario) {
    const METHODS: [&str; 4] = ["config.get", "config.set", "config.patch", "config.apply"];
    for answer in answers(promised).iter().filter(|answer| METHODS.contains(&answer.method.as_str())) {
        promised.payload(answer.line).into_iter().for_each(hide);
    }
}

fn hide(value: &mut Value) {
    match value {
        Value::String(text) => {
            for secret in SECRET_TEXTS {
                if text.contains(secret) {
                    *text = text.replace(secret, MARK);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(object) => object.values_mut().for_each(hide),
        _ => {}
    }
}

/// What was said under an alias is in the history of the session that it means.
fn aliases(promised: &mut Scenario) {
    const ALIAS: &str = "main";
    const MEANT: &str = "agent:main:main";
    let mut messages: Vec<Value> = Vec::new();
    for answer in answers(promised) {
        if answer.params["sessionKey"] != ALIAS {
            continue;
        }
        if let Some(said) = answer.params["message"].as_str().filter(|_| answer.method == "chat.send") {
            messages.extend([of_runs::question(said), of_runs::usual_answer()]);
        }
        if answer.method != "chat.history" || messages.is_empty() {
            continue;
        }
        let listed = promised.lines.iter().find_map(|line| {
            let sessions = line.pointer("/frame/payload/sessions")?.as_array()?;
            sessions.iter().find(|session| session["key"] == MEANT)?.get("sessionId").cloned()
        });
        if let Some(payload) = promised.payload(answer.line) {
            payload["messages"] = messages.clone().into();
            payload["sessionId"] = listed.unwrap_or_default();
        }
    }
}

/// Its addresses lead nowhere.
fn canvas(promised: &mut Scenario) {
    let paths = promised.steps().filter_map(|step| step["http"]["path"].as_str());
    let paths: Vec<String> = paths.map(str::to_owned).collect();
    let is_answer = |line: &&mut Value| line["dir"] == "s2c" && line.get("http").is_some();
    for (path, answer) in paths.iter().zip(promised.lines.iter_mut().filter(is_answer)) {
        if path.starts_with("/__openclaw__/") {
            let headers = json!({"content-type": "text/plain; charset=utf-8"});
            answer["http"] = json!({"status": 404, "headers": headers, "body": "Not Found"});
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::gateway::{compare, recordings};

    fn recording(name: &str) -> Scenario {
        let mut all = recordings().into_iter();
        all.find(|(other, _)| *other == format!("{name}.jsonl")).expect("it is recorded").1
    }

    /// What a gateway said that keeps its promises, and one that does not.
    fn told(name: &str, ours: fn(&mut Vec<Value>)) -> (Vec<&'static str>, Vec<String>) {
        let recorded = recording(name);
        let mut actual = recorded.clone();
        ours(&mut actual.lines);
        let (promised, rules) = promised(&recorded);
        (rules, compare::differences(&promised, &actual))
    }

    fn answered<'l>(lines: &'l mut [Value], id: &str) -> &'l mut Value {
        let mut lines = lines.iter_mut().filter(|line| line["dir"] == "s2c");
        &mut lines.find(|line| line["frame"]["id"] == id).expect("it was answered")["frame"]
    }

    fn refuse_later(lines: &mut Vec<Value>, code: &str) {
        // The ninth is wrong, and refused for that.
        for at in [5, 6, 7, 8, 10] {
            let id = format!("r{at}");
            let why = if at < 7 { "yabby does not speak yet" } else { "yabby does not listen to voices yet" };
            *answered(lines, &id) = json!({"type": "res", "id": id, "ok": false,
                "error": {"code": code, "message": why}});
        }
        lines.retain(|line| !line["frame"]["event"].as_str().is_some_and(later::is_event));
    }

    #[test]
    fn later_methods_are_unavailable_and_nothing_else() {
        const NAME: &str = "read-skills-usage-tts-voice";
        let (rules, differences) = told(NAME, |lines| refuse_later(lines, "UNAVAILABLE"));
        assert_eq!((rules, differences), (vec!["later-methods-are-unavailable"], Vec::new()));
        let (_, differences) = told(NAME, |lines| refuse_later(lines, "INVALID_REQUEST"));
        assert!(differences.iter().any(|told| told.contains("UNAVAILABLE")), "{differences:?}");
        let (_, differences) = told(NAME, |lines| {
            refuse_later(lines, "UNAVAILABLE");
            answered(lines, "r4")["payload"]["providers"] = json!(["x"]);
        });
        assert!(!differences.is_empty());
        // Who may ask is told first.
        let (_, differences) = told("err-scopes", |lines| {
            let refused = lines.iter_mut().filter(|line| line["frame"]["ok"] == false);
            for line in refused {
                line["frame"]["error"] = json!({"code": "UNAVAILABLE", "message": "not yet"});
            }
        });
        assert!(!differences.is_empty());
    }

    #[test]
    fn a_secret_that_is_left_is_told() {
        let hidden = |lines: &mut Vec<Value>| hide(answered(lines, "r1"));
        let (rules, differences) = told("config-get-schema", hidden);
        assert_eq!((rules, differences), (vec!["secrets-are-not-shown"], Vec::new()));
        let (_, differences) = told("config-get-schema", |lines| {
            hide(answered(lines, "r1"));
            answered(lines, "r1")["payload"]["config"]["hooks"]["token"] = "hook-vector".into();
        });
        assert!(differences.iter().any(|told| told.contains("hook-vector")), "{differences:?}");
    }

    #[test]
    fn what_was_said_under_an_alias_is_in_the_history() {
        let (rules, differences) = told("chat-send-alias-main", |lines| history(lines, "Hello alias"));
        assert_eq!((rules, differences), (vec!["an-alias-is-the-session-it-means"], Vec::new()));
        let (_, differences) = told("chat-send-alias-main", |lines| history(lines, "something else"));
        assert!(!differences.is_empty());
    }

    #[test]
    fn a_canvas_is_not_found_and_everything_else_is() {
        fn missing(lines: &mut [Value], of: &[usize]) {
            let answers = lines.iter_mut().filter(|line| line["dir"] == "s2c");
            for (_, line) in answers.enumerate().filter(|(at, _)| of.contains(at)) {
                let headers = json!({"content-type": "text/plain; charset=utf-8"});
                line["http"] = json!({"status": 404, "headers": headers, "body": "Not Found"});
            }
        }
        // The ninth and the tenth are asked of it.
        let (rules, differences) = told("http-control-ui", |lines| missing(lines, &[8, 9]));
        assert_eq!((rules, differences), (vec!["there-is-no-canvas"], Vec::new()));
        let (_, differences) = told("http-control-ui", |lines| missing(lines, &[7, 8, 9, 10]));
        assert_eq!(differences.iter().filter(|told| told.contains("status")).count(), 1, "{differences:?}");
    }

    fn history(lines: &mut [Value], said: &str) {
        let session = lines
            .iter()
            .find_map(|line| line.pointer("/frame/payload/sessions/0/sessionId").cloned())
            .expect("the session is listed");
        let payload = &mut answered(lines, "r2")["payload"];
        payload["sessionId"] = session;
        payload["messages"] = json!([of_runs::question(said), of_runs::usual_answer()]);
    }
}
