//! What the reference's own clients asked a foreign server: a list of requests that a gateway answers without error.

use serde_json::{Value, json};

use super::later;
use super::scenario::Scenario;

/// The device of the client; that of the recorded one is not known.
const SEED: u8 = 9;

/// The same requests as a scenario that can be played, on a home of ours.
pub(super) fn scenario(recorded: &Scenario) -> Scenario {
    let mut steps: Vec<Value> = Vec::new();
    let mut connections: Vec<String> = Vec::new();
    let mut after = json!([]);
    for line in &recorded.lines {
        if line["note"] == "connection opened" {
            steps.extend(connections.last().map(|name| close(name, after.take())));
            let name = format!("c{}", connections.len() + 1);
            steps.push(json!({"dir": "c2s", "conn": name, "open": true}));
            connections.push(name);
        }
        let (Some(frame), Some(name)) = (line.get("frame"), connections.last()) else { continue };
        if line["dir"] != "c2s" {
            continue;
        }
        let mut step = json!({"dir": "c2s", "conn": name, "frame": frame, "after": after.take()});
        match frame["method"].as_str() {
            Some("connect") => {
                step["frame"]["params"]["auth"]["token"] = "tok-vector".into();
                step["sign"] = json!({"seed": SEED});
            }
            // It is answered twice.
            Some("agent") => after = json!([{"res": frame["id"], "n": 2}]),
            Some("chat.send") => {
                let run = &frame["params"]["idempotencyKey"];
                let is_final = json!({"payload": {"runId": run, "state": "final"}});
                after = json!([{"event": "chat", "match": is_final}]);
            }
            _ => {}
        }
        steps.push(step);
    }
    steps.extend(connections.last().map(|name| close(name, after.take())));
    steps.push(json!({"dir": "c2s", "end": true}));
    let header = |name: &String| json!({"conn": name, "headers": {"Host": "127.0.0.1:{{PORT}}"}});
    let connections: Vec<Value> = connections.iter().map(header).collect();
    let meta = json!({"desc": recorded.meta["desc"], "home": "empty", "stub": true, "env": {}, "conns": connections});
    Scenario { meta, lines: steps }
}

fn close(name: &str, after: Value) -> Value {
    json!({"dir": "c2s", "conn": name, "close": {"code": 1000, "reason": ""}, "after": after})
}

/// The requests that were not answered, or with an error.
pub(super) fn unanswered(played: &Scenario) -> Vec<String> {
    let notes = played.lines.iter().filter(|line| line["dir"] == "note");
    let mut told: Vec<String> = notes.filter_map(|line| line["error"].as_str().map(str::to_owned)).collect();
    for step in played.steps().filter(|step| step["frame"]["type"] == "req") {
        let method = step["frame"]["method"].as_str().unwrap_or_default();
        let is_answer = |line: &&Value| line["dir"] == "s2c" && line["frame"]["id"] == step["frame"]["id"];
        let is_unavailable =
            |line: &Value| later::is_method(method) && line["frame"]["error"]["code"] == "UNAVAILABLE";
        let mut answers = played.lines.iter().filter(is_answer).peekable();
        if answers.peek().is_none() {
            told.push(format!("{method} was not answered"));
        }
        for line in answers.filter(|line| line["frame"]["ok"] != true && !is_unavailable(line)) {
            told.push(format!("{method}: {}", line["frame"]["error"]));
        }
    }
    told
}
