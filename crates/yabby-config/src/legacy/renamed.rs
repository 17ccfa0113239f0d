//! Keys that only changed their name (`config.md` §4).

use serde_json::Value;
use yabby_base::json::{self, Object};

use super::tree::{ensure, object, settle, text};

pub fn binding_channels(root: &mut Object, changes: &mut Vec<String>) {
    let Some(Value::Array(bindings)) = root.get_mut("bindings") else { return };
    if provider_to_channel(bindings) {
        changes.push("Moved bindings[].match.provider → bindings[].match.channel.".to_owned());
    }
}

pub fn send_rule_channels(root: &mut Object, changes: &mut Vec<String>) {
    let policy = object(root, "session").and_then(|session| object(session, "sendPolicy"));
    let Some(Value::Array(rules)) = policy.and_then(|policy| policy.get_mut("rules")) else { return };
    if provider_to_channel(rules) {
        changes.push("Moved session.sendPolicy.rules[].match.provider → match.channel.".to_owned());
    }
}

/// Renames in every `match` of a list; whether there was anything to rename.
fn provider_to_channel(list: &mut [Value]) -> bool {
    let mut touched = false;
    for entry in list {
        let Some(condition) = entry.as_object_mut().and_then(|entry| object(entry, "match")) else {
            continue;
        };
        let provider = text(condition, "provider").to_owned();
        if text(condition, "channel").is_empty() && !provider.is_empty() {
            condition.insert("channel".to_owned(), provider.into());
            condition.shift_remove("provider");
            touched = true;
        }
    }
    touched
}

pub fn binding_accounts(root: &mut Object, changes: &mut Vec<String>) {
    let Some(Value::Array(bindings)) = root.get_mut("bindings") else { return };
    let mut touched = false;
    for binding in bindings {
        let Some(condition) = binding.as_object_mut().and_then(|entry| object(entry, "match")) else {
            continue;
        };
        let account = match condition.get("accountID") {
            Some(Value::String(id)) => Value::from(yabby_base::text::trim(id)),
            Some(other) => other.clone(),
            None => continue,
        };
        if !condition.contains_key("accountId") && json::truthy(&account) {
            condition.insert("accountId".to_owned(), account);
            condition.shift_remove("accountID");
            touched = true;
        }
    }
    if touched {
        changes.push("Moved bindings[].match.accountID → bindings[].match.accountId.".to_owned());
    }
}

pub fn queue_channels(root: &mut Object, changes: &mut Vec<String>) {
    let Some(queue) = object(root, "messages").and_then(|messages| object(messages, "queue")) else { return };
    let Some(modes) = queue.get("byProvider").cloned() else { return };
    settle(modes, "messages.queue.byProvider", queue, "byChannel", "messages.queue.byChannel", changes);
    queue.shift_remove("byProvider");
}

pub fn gateway_token(root: &mut Object, changes: &mut Vec<String>) {
    let Some(gateway) = object(root, "gateway") else { return };
    let Some(token) = gateway.get("token").cloned() else { return };
    let had_auth = gateway.get("auth").is_some_and(Value::is_object);
    let auth = ensure(gateway, "auth");
    let was_free = !had_auth || !auth.contains_key("token");
    settle(token, "gateway.token", auth, "token", "gateway.auth.token", changes);
    if was_free && !auth.get("mode").is_some_and(json::truthy) {
        auth.insert("mode".to_owned(), "token".into());
    }
    gateway.shift_remove("token");
}

/// The Claude command line signs in by itself; its profile holds no token.
pub fn claude_cli_mode(root: &mut Object, changes: &mut Vec<String>) {
    let profiles = object(root, "auth").and_then(|auth| object(auth, "profiles"));
    let Some(profile) = profiles.and_then(|profiles| object(profiles, "anthropic:claude-cli")) else {
        return;
    };
    if profile.get("mode").is_some_and(|mode| mode == "token") {
        profile.insert("mode".to_owned(), "oauth".into());
        changes.push("Updated auth.profiles[\"anthropic:claude-cli\"].mode → \"oauth\".".to_owned());
    }
}

pub fn bash_tool(root: &mut Object, changes: &mut Vec<String>) {
    let tools = ensure(root, "tools");
    let Some(bash) = tools.get("bash").filter(|bash| bash.is_object()).cloned() else { return };
    settle(bash, "tools.bash", tools, "exec", "tools.exec", changes);
    tools.shift_remove("bash");
}

pub fn speech_switch(root: &mut Object, changes: &mut Vec<String>) {
    let Some(speech) = object(root, "messages").and_then(|messages| object(messages, "tts")) else { return };
    if speech.contains_key("auto") {
        if speech.shift_remove("enabled").is_some() {
            changes.push("Removed messages.tts.enabled (messages.tts.auto already set).".to_owned());
        }
        return;
    }
    let Some(enabled) = speech.get("enabled").and_then(Value::as_bool) else { return };
    let auto = if enabled { "always" } else { "off" };
    speech.insert("auto".to_owned(), auto.into());
    speech.shift_remove("enabled");
    changes.push(format!("Moved messages.tts.enabled → messages.tts.auto ({auto})."));
}
