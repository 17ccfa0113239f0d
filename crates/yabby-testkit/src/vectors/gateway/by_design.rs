//! Where our gateway deliberately answers otherwise. `docs/compatibility.md` explains each rule by its name.

mod of_methods;
mod of_runs;

use serde_json::{Value, json};

use super::later;
use super::scenario::Scenario;

/// A deliberate difference.
pub(super) struct Rule {
    pub(super) name: &'static str,
    /// Changes what was recorded into what we promise, where it touches it. What we did is there to be held
    /// against the promise where that leaves something open, such as the words of a reason.
    promise: fn(&mut Scenario, &Scenario),
}

/// What comes later is known by name, and says that it is not here.
pub(in crate::vectors) const LATER_METHODS: &str = "later-methods-are-unavailable";
/// Tokens, passwords and keys of a configuration stay where they are.
pub(in crate::vectors) const SECRETS: &str = "secrets-are-not-shown";

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
pub(super) fn promised(recorded: &Scenario, actual: &Scenario) -> (Scenario, Vec<&'static str>) {
    let mut promised = recorded.clone();
    let mut names = Vec::new();
    for rule in &RULES {
        let before = promised.lines.clone();
        (rule.promise)(&mut promised, actual);
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
    connection: Value,
    id: Value,
    /// Which one of the answers to that request.
    turn: usize,
}

fn answers(scenario: &Scenario) -> Vec<Answer> {
    let mut found: Vec<Answer> = Vec::new();
    for (at, line) in scenario.lines.iter().enumerate() {
        let frame = &line["frame"];
        if line["dir"] != "s2c" || frame["type"] != "res" {
            continue;
        }
        let is_question = |step: &&Value| step["conn"] == line["conn"] && step["frame"]["id"] == frame["id"];
        let Some(question) = scenario.steps().find(is_question) else { continue };
        let is_same = |other: &&Answer| other.connection == line["conn"] && other.id == frame["id"];
        let turn = found.iter().filter(is_same).count();
        found.push(Answer {
            line: at,
            method: question["frame"]["method"].as_str().unwrap_or_default().to_owned(),
            params: question["frame"]["params"].clone(),
            connection: line["conn"].clone(),
            id: frame["id"].clone(),
            turn,
        });
    }
    found
}

/// Our answer to the same request.
fn ours<'a>(answer: &Answer, actual: &'a Scenario) -> Option<&'a Value> {
    let is_same = |line: &&Value| {
        line["dir"] == "s2c"
            && line["frame"]["type"] == "res"
            && line["conn"] == answer.connection
            && line["frame"]["id"] == answer.id
    };
    actual.lines.iter().filter(is_same).nth(answer.turn).map(|line| &line["frame"])
}

/// Known by name, behind the same scopes, and not there yet; nor are their events.
fn later_methods(promised: &mut Scenario, actual: &Scenario) {
    for answer in answers(promised).iter().filter(|answer| later::is_method(&answer.method)) {
        let frame = &promised.lines[answer.line]["frame"];
        let reason = frame["error"]["message"].as_str().unwrap_or_default();
        let is_refused = reason.starts_with("missing scope:") || reason.starts_with("unauthorized role:");
        if is_refused || ours(answer, actual) == Some(frame) {
            continue;
        }
        let own_words = ours(answer, actual).and_then(|own| own["error"]["message"].as_str());
        let words = own_words.filter(|words| !words.trim().is_empty()).unwrap_or("a plain reason");
        promised.lines[answer.line]["frame"] = json!({
            "type": "res", "id": answer.id, "ok": false,
            "error": {"code": "UNAVAILABLE", "message": words},
        });
    }
    promised.lines.retain(|line| !line["frame"]["event"].as_str().is_some_and(later::is_event));
}

/// Texts in the homes that only their owner should see.
const SECRET_TEXTS: [&str; 4] = ["tok-vector", "pw-vector", "hook-vector", "sk-stub"];

/// The same mark in the place of every secret of a configuration.
fn secrets(promised: &mut Scenario, actual: &Scenario) {
    const METHODS: [&str; 4] = ["config.get", "config.set", "config.patch", "config.apply"];
    for answer in answers(promised).iter().filter(|answer| METHODS.contains(&answer.method.as_str())) {
        let config = |frame: &Value| frame["payload"]["config"].clone();
        let own = ours(answer, actual).map(config).unwrap_or_default();
        let mark = ["/gateway/auth/token", "/gateway/auth/password"]
            .iter()
            .find_map(|pointer| own.pointer(pointer).and_then(Value::as_str));
        let Some(mark) = mark.filter(|mark| !mark.is_empty() && !SECRET_TEXTS.contains(mark)) else {
            continue;
        };
        let frame = &mut promised.lines[answer.line]["frame"];
        hide(frame, mark);
    }
}

fn hide(value: &mut Value, mark: &str) {
    match value {
        Value::String(text) => {
            for secret in SECRET_TEXTS {
                if text.contains(secret) {
                    *text = text.replace(secret, mark);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, mark)),
        Value::Object(object) => object.values_mut().for_each(|member| hide(member, mark)),
        _ => {}
    }
}

/// What was said under an alias is in the history of the session that it means.
fn aliases(promised: &mut Scenario, actual: &Scenario) {
    const ALIAS: &str = "main";
    let mut said: Vec<String> = Vec::new();
    for answer in answers(promised) {
        if answer.params["sessionKey"] != ALIAS {
            continue;
        }
        if answer.method == "chat.send" {
            said.extend(answer.params["message"].as_str().map(str::to_owned));
        }
        let is_history = answer.method == "chat.history" && !said.is_empty();
        let Some(own) = ours(&answer, actual).filter(|_| is_history) else { continue };
        let payload = &own["payload"];
        let text = |message: &Value| match &message["content"] {
            Value::String(text) => text.clone(),
            parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
        };
        let messages = payload["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
        let of_users: Vec<String> = messages.iter().step_by(2).map(text).collect();
        let is_kept = roles == ["user", "assistant"].repeat(said.len())
            && of_users.iter().zip(&said).all(|(kept, said)| kept.ends_with(said.as_str()));
        if is_kept && payload["sessionId"].is_string() {
            // The same session as the one that is listed, where one is.
            let listed = promised.lines.iter().find_map(|line| {
                let sessions = line.pointer("/frame/payload/sessions")?.as_array()?.iter();
                let mut sessions = sessions.filter(|session| session["key"] == "agent:main:main");
                sessions.next()?.get("sessionId").cloned()
            });
            let frame = &mut promised.lines[answer.line]["frame"];
            frame["payload"]["sessionId"] = listed.unwrap_or_else(|| payload["sessionId"].clone());
            frame["payload"]["messages"] = payload["messages"].clone();
        }
    }
}

/// Its addresses lead nowhere.
fn canvas(promised: &mut Scenario, actual: &Scenario) {
    let paths: Vec<String> = promised
        .steps()
        .filter_map(|step| step["http"]["path"].as_str())
        .map(|path| path.to_owned())
        .collect();
    let is_answer = |line: &Value| line["dir"] == "s2c" && line.get("http").is_some();
    let ours = actual.lines.iter().filter(|line| is_answer(line));
    let recorded = promised.lines.iter_mut().filter(|line| is_answer(line));
    for ((path, recorded), own) in paths.iter().zip(recorded).zip(ours) {
        if path.starts_with("/__openclaw__/") && own["http"]["status"] == 404 {
            recorded["http"] = own["http"].clone();
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
        let (promised, rules) = promised(&recorded, &actual);
        (rules, compare::differences(&promised, &actual))
    }

    fn answered<'l>(lines: &'l mut [Value], id: &str) -> &'l mut Value {
        let mut lines = lines.iter_mut().filter(|line| line["dir"] == "s2c");
        &mut lines.find(|line| line["frame"]["id"] == id).expect("it was answered")["frame"]
    }

    fn refuse_later(lines: &mut Vec<Value>, code: &str) {
        for at in 5..=10 {
            let id = format!("r{at}");
            *answered(lines, &id) = json!({"type": "res", "id": id, "ok": false,
                "error": {"code": code, "message": "not yet"}});
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
        let hidden = |lines: &mut Vec<Value>| hide(answered(lines, "r1"), "__HIDDEN__");
        let (rules, differences) = told("config-get-schema", hidden);
        assert_eq!((rules, differences), (vec!["secrets-are-not-shown"], Vec::new()));
        let (_, differences) = told("config-get-schema", |lines| {
            hide(answered(lines, "r1"), "__HIDDEN__");
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
                line["http"] = json!({"status": 404, "headers": {}, "body": "Not Found"});
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
        payload["messages"] = json!([
            {"role": "user", "content": [{"type": "text", "text": said}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
        ]);
    }
}
