//! Differences of methods that have nothing to do with runs.

use serde_json::{Value, json};

use super::answers;
use crate::vectors::gateway::scenario::Scenario;

/// What is told of a channel that nobody asked how it is.
const NOT_SERVED: &str = "channels are not served yet; this is what the configuration says";

/// No channel runs: nobody was asked how it is, and nothing can be sent through it.
pub(super) fn channels(promised: &mut Scenario) {
    for answer in answers(promised) {
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
        for (_, told) in channels.into_iter().flatten() {
            let accounts = told.get_mut("accounts").and_then(Value::as_object_mut).into_iter().flatten();
            accounts.for_each(|(_, account)| not_asked(account));
            not_asked(told);
        }
    }
}

/// Where the reference failed to reach a channel, we have not tried.
fn not_asked(told: &mut Value) {
    if let Some(why) = told.pointer_mut("/probe/error").filter(|why| why.is_string()) {
        *why = NOT_SERVED.into();
    }
}

/// The log of a gateway that has just begun is shorter than what a request may read at least, so that nothing of it is
/// left out; the reference's is longer.
pub(super) fn logs(promised: &mut Scenario) {
    const LENGTH: f64 = 2000.0;
    for answer in answers(promised).iter().filter(|answer| answer.method == "logs.tail") {
        let truncated = promised.payload(answer.line).and_then(|payload| payload.get_mut("truncated"));
        let is_whole = answer.params["maxBytes"].as_f64().is_none_or(|most| most >= LENGTH);
        if let Some(truncated) = truncated.filter(|truncated| is_whole && **truncated == true) {
            *truncated = false.into();
        }
    }
}

/// After `config.set` nobody is sent away where what changed can be applied at once: nothing more comes, and a
/// scenario that waits for the end waits in vain.
pub(super) fn applied(promised: &mut Scenario) {
    let is_end = |line: &Value| line["frame"]["event"] == "shutdown" || line["close"]["code"] == 1012;
    let all = answers(promised);
    let Some(set) = all.iter().rfind(|answer| answer.method == "config.set") else { return };
    if promised.lines[set.line]["frame"]["ok"] != true || !promised.lines[set.line..].iter().any(is_end) {
        return;
    }
    let mut at = 0;
    promised.lines.retain(|line| {
        at += 1;
        at - 1 <= set.line || line["dir"] != "s2c" || !is_end(line)
    });
    promised.lines.push(json!({"dir": "note", "error": "gave up after 30s: the end of a did not come"}));
}
