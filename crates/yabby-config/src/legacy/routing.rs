//! The section `routing`, which was taken apart (`config.md` §4).

use serde_json::{Value, json};
use yabby_base::json::{Object, in_js_order};
use yabby_base::text;

use super::tree::{self, agent_entry, as_text, drop_if_empty, ensure, merge_missing, object, settle};

/// `routing.agents` and `routing.defaultAgentId`.
pub fn agents(root: &mut Object, changes: &mut Vec<String>) {
    let Some(routing) = object(root, "routing") else { return };
    let old = routing.get("agents").and_then(Value::as_object).cloned();
    let default = tree::text(routing, "defaultAgentId").to_owned();
    if old.is_some() {
        routing.shift_remove("agents");
    }
    if !default.is_empty() {
        routing.shift_remove("defaultAgentId");
    }
    drop_if_empty(root, "routing");
    let agents = ensure(root, "agents");
    let mut list = agents.get("list").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(old) = old {
        for (id, entry) in in_js_order(&old) {
            if let (Some(id), Value::Object(entry)) = (text::non_blank(id), entry) {
                take_over(id, entry.clone(), agent_entry(&mut list, id), changes);
            }
        }
        changes.push("Moved routing.agents → agents.list.".to_owned());
    }
    if !default.is_empty() {
        if list.iter().any(|entry| entry["default"] == true) {
            changes.push("Removed routing.defaultAgentId (agents.list default already set).".to_owned());
        } else {
            agent_entry(&mut list, &default).insert("default".to_owned(), true.into());
            changes.push(format!("Moved routing.defaultAgentId → agents.list (id \"{default}\").default."));
        }
    }
    if !list.is_empty() {
        agents.insert("list".to_owned(), Value::Array(list));
    }
}

/// Adds to an agent what its old entry says and the new one does not.
fn take_over(id: &str, mut old: Object, agent: &mut Object, changes: &mut Vec<String>) {
    if let Some(patterns) = old.shift_remove("mentionPatterns") {
        let group_chat = ensure(agent, "groupChat");
        if group_chat.contains_key("mentionPatterns") {
            let why = "agents.list groupChat mentionPatterns already set";
            changes.push(format!("Removed routing.agents.{id}.mentionPatterns ({why})."));
        } else {
            group_chat.insert("mentionPatterns".to_owned(), patterns);
            let to = format!("agents.list (id \"{id}\").groupChat.mentionPatterns");
            changes.push(format!("Moved routing.agents.{id}.mentionPatterns → {to}."));
        }
    }
    if let Some(group_chat) = object(&mut old, "groupChat").cloned() {
        merge_missing(ensure(agent, "groupChat"), &group_chat);
        old.shift_remove("groupChat");
    }
    if let Some(sandbox) = object(&mut old, "sandbox")
        && let Some(policy) = object(sandbox, "tools").cloned()
    {
        merge_missing(ensure(ensure(ensure(agent, "tools"), "sandbox"), "tools"), &policy);
        sandbox.shift_remove("tools");
        let to = format!("agents.list (id \"{id}\").tools.sandbox.tools");
        changes.push(format!("Moved routing.agents.{id}.sandbox.tools → {to}."));
    }
    merge_missing(agent, &old);
}

/// What else stood in `routing`; with it the transcription, which stood in `audio` too. The latter is
/// looked at only where there is a `routing`.
pub fn others(root: &mut Object, changes: &mut Vec<String>) {
    let Some(mut routing) = root.get("routing").and_then(Value::as_object).cloned() else { return };
    if let Some(bindings) = routing.shift_remove("bindings") {
        settle(bindings, "routing.bindings", root, "bindings", "bindings", changes);
    }
    for (key, section) in [("agentToAgent", "tools"), ("queue", "messages")] {
        if let Some(value) = routing.shift_remove(key) {
            let to = format!("{section}.{key}");
            settle(value, &format!("routing.{key}"), ensure(root, section), key, &to, changes);
        }
    }
    if let Some(group_chat) = object(&mut routing, "groupChat") {
        for key in ["historyLimit", "mentionPatterns"] {
            if let Some(value) = group_chat.shift_remove(key) {
                let target = ensure(ensure(root, "messages"), "groupChat");
                let to = format!("messages.groupChat.{key}");
                settle(value, &format!("routing.groupChat.{key}"), target, key, &to, changes);
            }
        }
        drop_if_empty(&mut routing, "groupChat");
    }
    if let Some(transcription) = routing.shift_remove("transcribeAudio") {
        transcribe(root, &transcription, "routing.transcribeAudio", changes);
    }
    if let Some(transcription) = object(root, "audio").and_then(|audio| audio.shift_remove("transcription")) {
        transcribe(root, &transcription, "audio.transcription", changes);
        drop_if_empty(root, "audio");
    }
    root.insert("routing".to_owned(), Value::Object(routing));
    drop_if_empty(root, "routing");
}

fn transcribe(root: &mut Object, transcription: &Value, from: &str, changes: &mut Vec<String>) {
    let Some(model) = transcription_model(transcription) else {
        changes.push(format!("Removed {from} (unsupported transcription CLI)."));
        return;
    };
    let audio = ensure(ensure(ensure(root, "tools"), "media"), "audio");
    if audio.get("models").and_then(Value::as_array).is_some_and(|models| !models.is_empty()) {
        changes.push(format!("Removed {from} (tools.media.audio.models already set)."));
        return;
    }
    audio.insert("enabled".to_owned(), true.into());
    audio.insert("models".to_owned(), json!([model]));
    changes.push(format!("Moved {from} → tools.media.audio.models."));
}

/// The command as a model that is a program; only `whisper` was ever more than a guess.
fn transcription_model(transcription: &Value) -> Option<Value> {
    let [program, arguments @ ..] = transcription.get("command")?.as_array()?.as_slice() else { return None };
    let program = if program.is_null() { String::new() } else { as_text(program) };
    let program = text::trim(&program);
    if program.rsplit(['/', '\\']).next() != Some("whisper") {
        return None;
    }
    let mut model = json!({ "command": program, "type": "cli" });
    if !arguments.is_empty() {
        model["args"] = arguments.iter().map(as_text).collect();
    }
    if let Some(seconds @ Value::Number(_)) = transcription.get("timeoutSeconds") {
        model["timeoutSeconds"] = seconds.clone();
    }
    Some(model)
}
