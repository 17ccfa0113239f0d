//! Where our runs deliberately differ.

use serde_json::{Value, json};

use super::{answers, ours};
use crate::vectors::gateway::scenario::Scenario;

/// What somebody says in a chat that is for the program, and so is the answer: the words are ours.
pub(super) fn commands(promised: &mut Scenario, actual: &Scenario) {
    let is_command = |step: &&Value| {
        step["frame"]["method"] == "chat.send"
            && step["frame"]["params"]["message"].as_str().is_some_and(|said| said.starts_with('/'))
    };
    let runs: Vec<Value> = promised
        .steps()
        .filter(is_command)
        .map(|step| step["frame"]["params"]["idempotencyKey"].clone())
        .collect();
    for line in promised.lines.iter_mut() {
        let run = line["frame"]["payload"]["runId"].clone();
        if !is_injected(line) || !runs.contains(&run) {
            continue;
        }
        let own = actual.lines.iter().find(|own| is_injected(own) && own["frame"]["payload"]["runId"] == run);
        let own_words = own.and_then(|own| own.pointer(WORDS)).and_then(Value::as_str);
        if let (Some(own_words), Some(words)) =
            (own_words.filter(|words| !words.trim().is_empty()), line.pointer_mut(WORDS))
        {
            *words = own_words.into();
        }
    }
}

const WORDS: &str = "/frame/payload/message/content/0/text";

fn is_injected(line: &Value) -> bool {
    line["frame"]["event"] == "chat" && line["frame"]["payload"]["message"]["stopReason"] == "injected"
}

/// A model that fails: the words say what to do, it is told that this is an error, and how often we ask again is
/// our own business.
pub(super) fn failures(promised: &mut Scenario, actual: &Scenario) {
    for answer in answers(promised) {
        let Some(own) = ours(&answer, actual) else { continue };
        let frame = &mut promised.lines[answer.line]["frame"];
        let said =
            frame.pointer("/payload/result/payloads/0/text").and_then(Value::as_str).unwrap_or_default();
        let has_failed = said.starts_with("LLM request rejected: ") || said.starts_with("HTTP 5");
        let own_result = &own["payload"]["result"];
        let tells = own_result["payloads"][0]["isError"] == true && own_result["meta"]["error"].is_string();
        if answer.method == "agent" && has_failed && tells {
            frame["payload"]["result"]["payloads"] = own_result["payloads"].clone();
            frame["payload"]["result"]["meta"]["error"] = own_result["meta"]["error"].clone();
            let run = frame["payload"]["runId"].clone();
            promised.lines.retain(|line| !is_another_attempt(line, &run));
            return failures(promised, actual);
        }
        if answer.method != "chat.history" {
            continue;
        }
        let own_messages = own["payload"]["messages"].as_array().cloned().unwrap_or_default();
        let messages = frame["payload"]["messages"].as_array_mut().into_iter().flatten();
        for (message, own) in messages.zip(own_messages) {
            if message["stopReason"] == "error" && own["errorMessage"].is_string() {
                message["errorMessage"] = own["errorMessage"].clone();
            }
        }
    }
}

/// Only the first attempt of a run is told with its session.
fn is_another_attempt(line: &Value, run: &Value) -> bool {
    let payload = &line["frame"]["payload"];
    line["frame"]["event"] == "agent"
        && payload["runId"] == *run
        && payload["stream"] == "lifecycle"
        && payload.get("sessionKey").is_none()
}

/// What was said stays, also if somebody stops the answer.
pub(super) fn aborted(promised: &mut Scenario, actual: &Scenario) {
    let is_stopped = promised
        .lines
        .iter()
        .any(|line| line["frame"]["event"] == "chat" && line["frame"]["payload"]["state"] == "aborted");
    if !is_stopped {
        return;
    }
    let said: Vec<String> = promised
        .steps()
        .filter(|step| step["frame"]["method"] == "chat.send")
        .filter_map(|step| step["frame"]["params"]["message"].as_str().map(str::to_owned))
        .collect();
    for answer in answers(promised).iter().filter(|answer| answer.method == "chat.history") {
        let Some(own) = ours(answer, actual) else { continue };
        let messages = own["payload"]["messages"].as_array().cloned().unwrap_or_default();
        let is_kept = |message: &Value| match message["role"].as_str() {
            Some("user") => {
                let text = message["content"][0]["text"].as_str().unwrap_or_default();
                said.iter().any(|said| text.ends_with(said.as_str()))
            }
            Some("assistant") => message["stopReason"] == "aborted",
            _ => false,
        };
        let recorded = &mut promised.lines[answer.line]["frame"]["payload"]["messages"];
        if *recorded == json!([]) && messages.iter().all(is_kept) {
            *recorded = messages.into();
        }
    }
}

/// A run marks its session as used, wherever it comes from.
pub(super) fn marks(promised: &mut Scenario, actual: &Scenario) {
    const MARKS: [&str; 3] = ["systemSent", "chatType", "sessionFile"];
    for answer in answers(promised) {
        let Some(own) = ours(&answer, actual) else { continue };
        let places: &[&str] = match answer.method.as_str() {
            "sessions.patch" | "sessions.reset" => &["/payload/entry"],
            "sessions.list" => &["/payload/sessions/0", "/payload/sessions/1", "/payload/sessions/2"],
            _ => continue,
        };
        for place in places {
            let frame = &mut promised.lines[answer.line]["frame"];
            let (Some(Value::Object(recorded)), Some(Value::Object(own))) =
                (frame.pointer_mut(place), own.pointer(place))
            else {
                continue;
            };
            for mark in MARKS {
                let is_told = recorded.get(mark).is_some_and(|mark| *mark != false);
                let id = |entry: &serde_json::Map<String, Value>| {
                    entry.get("sessionId").and_then(Value::as_str).unwrap_or("?").to_owned()
                };
                let mark_of_ours = match own.get(mark) {
                    // The file is called as the session is.
                    Some(Value::String(text)) => Some(text.replace(&id(own), &id(recorded)).into()),
                    other => other.cloned(),
                };
                if let (false, Some(mark_of_ours)) = (is_told, mark_of_ours) {
                    recorded.insert(mark.to_owned(), mark_of_ours);
                }
            }
        }
    }
}

/// A history becomes a summary before the next question, not after the answer: where nobody goes on, nothing is
/// summarised.
pub(super) fn compactions(promised: &mut Scenario, actual: &Scenario) {
    let is_compaction = |line: &Value| {
        line["frame"]["event"] == "agent" && line["frame"]["payload"]["stream"] == "compaction"
    };
    let of_ours: Vec<Value> = actual.lines.iter().filter(|line| is_compaction(line)).cloned().collect();
    if of_ours.is_empty() || !promised.lines.iter().any(is_compaction) {
        return;
    }
    promised.lines.retain(|line| !is_compaction(line));
    // What is summarised already needs no summary when somebody asks for one, and so the count stays.
    for answer in answers(promised).iter().filter(|answer| answer.method == "sessions.list") {
        let own = ours(answer, actual).and_then(|own| own.pointer("/payload/sessions/0"));
        let recorded = promised.lines[answer.line].pointer_mut("/frame/payload/sessions/0");
        let (Some(Value::Object(recorded)), Some(own)) = (recorded, own) else { continue };
        for count in ["inputTokens", "outputTokens", "totalTokens"] {
            if let Some(own) = own.get(count).filter(|own| own.is_number()) {
                recorded.insert(count.to_owned(), own.clone());
            }
        }
    }
    for own in of_ours.into_iter().rev() {
        let run = &own["frame"]["payload"]["runId"];
        let is_start = |line: &Value| {
            let payload = &line["frame"]["payload"];
            line["conn"] == own["conn"]
                && payload["runId"] == *run
                && payload["stream"] == "lifecycle"
                && payload["data"]["phase"] == "start"
        };
        if let Some(at) = promised.lines.iter().position(is_start) {
            promised.lines.insert(at + 1, own.clone());
        }
    }
}

/// What a tool answers is ours: fenced, where others may have written it.
pub(super) fn tools(promised: &mut Scenario, actual: &Scenario) {
    let result = |line: &Value| {
        let payload = &line["frame"]["payload"];
        let is_result = payload["stream"] == "tool" && payload["data"]["phase"] == "result";
        is_result
            .then(|| (line["conn"].clone(), payload["runId"].clone(), payload["data"]["toolCallId"].clone()))
    };
    for line in promised.lines.iter_mut() {
        let Some(call) = result(line) else { continue };
        let Some(own) = actual.lines.iter().find(|own| result(own).as_ref() == Some(&call)) else { continue };
        let data = &mut line["frame"]["payload"]["data"];
        let own = &own["frame"]["payload"]["data"];
        let words = own.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or_default();
        let said = data.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or_default();
        let is_alike = !said.is_empty()
            && words.contains(said)
            && own["result"]["details"]["status"] == data["result"]["details"]["status"];
        if is_alike {
            data["result"] = own["result"].clone();
        }
    }
}
