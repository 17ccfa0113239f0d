//! Differences of methods that have nothing to do with runs.

use serde_json::{Value, json};

use super::{answers, ours};
use crate::vectors::gateway::scenario::Scenario;

/// No channel runs: nobody was asked how it is, and nothing can be sent through it.
pub(super) fn channels(promised: &mut Scenario, actual: &Scenario) {
    for answer in answers(promised) {
        let own = ours(&answer, actual);
        let frame = &mut promised.lines[answer.line]["frame"];
        if answer.method == "send" && frame["error"]["code"] == "UNAVAILABLE" {
            let channel = answer.params["channel"].as_str().unwrap_or("whatsapp");
            let message = format!("unsupported channel: {channel}");
            frame["error"] = json!({"code": "INVALID_REQUEST", "message": message});
        }
        if answer.method != "health" {
            continue;
        }
        let channels = frame.pointer_mut("/payload/channels").and_then(Value::as_object_mut);
        for (id, told) in channels.into_iter().flatten() {
            let why = own.map(|own| own["payload"]["channels"][id.as_str()]["probe"]["error"].clone());
            let Some(why) = why.filter(|why| why.as_str().is_some_and(|why| why.contains("not served yet")))
            else {
                continue;
            };
            told["probe"]["error"] = why.clone();
            for (_, account) in told["accounts"].as_object_mut().into_iter().flatten() {
                account["probe"]["error"] = why.clone();
            }
        }
    }
}

/// Whether lines were left out follows from how much there is, which is not what the reference writes.
pub(super) fn logs(promised: &mut Scenario, actual: &Scenario) {
    for answer in answers(promised).iter().filter(|answer| answer.method == "logs.tail") {
        let Some(own) = ours(answer, actual) else { continue };
        let size = own["payload"]["size"].as_f64().unwrap_or(0.0);
        let most = answer.params["maxBytes"].as_f64().unwrap_or(250_000.0);
        // A cursor that is within the file is where reading begins.
        let begins = answer.params["cursor"].as_f64().filter(|cursor| *cursor <= size);
        let is_recorded = promised.lines[answer.line]["frame"]["payload"]["truncated"].is_boolean();
        if is_recorded && begins.is_none() && answer.params["cursor"].as_str().is_none() {
            promised.lines[answer.line]["frame"]["payload"]["truncated"] = Value::Bool(size > most);
        }
    }
}

/// After `config.set` nobody is sent away where what changed can be applied at once: nothing more comes, and a
/// scenario that waits for the end waits in vain.
pub(super) fn applied(promised: &mut Scenario, actual: &Scenario) {
    let is_end = |line: &Value| line["frame"]["event"] == "shutdown" || line["close"]["code"] == 1012;
    let all = answers(promised);
    let Some(set) = all.iter().rfind(|answer| answer.method == "config.set") else { return };
    let is_written = promised.lines[set.line]["frame"]["ok"] == true;
    let stayed = actual.lines.iter().filter(|line| line["dir"] == "s2c").all(|line| !is_end(line));
    if !is_written || !stayed {
        return;
    }
    let mut at = 0;
    promised.lines.retain(|line| {
        at += 1;
        at - 1 <= set.line || line["dir"] != "s2c" || !is_end(line)
    });
    promised.lines.extend(actual.lines.iter().filter(|line| line["dir"] == "note").cloned());
}
