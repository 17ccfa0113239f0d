//! A configuration for the eyes of clients: without its secrets, and with them again when it comes back.
//!
//! The mark is that of later releases of OpenClaw, so that its own pages know it.

use yabby_base::json::{Object, Value};
use yabby_base::secret_name::{has_password, is_secret_key, is_secret_variable};

use crate::key_path::Step;

/// What stands in the place of a secret.
pub const MARK: &str = "__OPENCLAW_REDACTED__";

/// A mark came back for which there is nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path} is hidden, and the file has nothing there to keep; write the value itself")]
pub struct NothingHidden {
    pub path: String,
}

/// Where the secrets are. What only names a variable is none.
pub fn secrets(value: &Value) -> Vec<Vec<Step>> {
    let mut found = Vec::new();
    collect(value, false, &mut Vec::new(), &mut found);
    found
}

fn collect(value: &Value, is_secret: bool, path: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    match value {
        Value::String(text) => {
            let is_reference = text.starts_with("${") && text.ends_with('}');
            if !text.is_empty() && !is_reference && (is_secret || has_password(text)) {
                found.push(path.clone());
            }
        }
        Value::Number(_) if is_secret => found.push(path.clone()),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                path.push(Step::Index(at));
                collect(item, is_secret, path, found);
                path.pop();
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                path.push(Step::Key(key.clone()));
                collect(member, is_secret || holds_secrets(key, path), path, found);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether everything below a key is secret. Variables for skills and servers are theirs alone.
fn holds_secrets(key: &str, path: &[Step]) -> bool {
    let begins = |start: &[&str]| {
        path.len() > start.len()
            && path.iter().zip(start).all(|(step, name)| matches!(step, Step::Key(key) if key == name))
    };
    let is_given = begins(&["skills", "entries"]) || begins(&["tools", "mcp", "servers"]);
    is_secret_key(key) || is_secret_variable(key) || key == "headers" || (key == "env" && is_given)
}

/// The same with a mark in the place of every secret.
pub fn redacted(value: &Value) -> Value {
    let mut shown = value.clone();
    for path in secrets(value) {
        if let Some(place) = at_mut(&mut shown, &path) {
            *place = MARK.into();
        }
    }
    shown
}

/// The marks in what somebody sent, with what `known` has in their places.
pub fn hidden(sent: &Value, known: &Value) -> Result<Vec<(Vec<Step>, Value)>, NothingHidden> {
    let mut found = Vec::new();
    restore(sent, Some(known), &mut Vec::new(), &mut found)?;
    Ok(found)
}

/// The same with the secrets again.
pub fn restored(sent: &Value, known: &Value) -> Result<Value, NothingHidden> {
    let mut whole = sent.clone();
    for (path, value) in hidden(sent, known)? {
        if let Some(place) = at_mut(&mut whole, &path) {
            *place = value;
        }
    }
    Ok(whole)
}

fn restore(
    sent: &Value,
    known: Option<&Value>,
    path: &mut Vec<Step>,
    found: &mut Vec<(Vec<Step>, Value)>,
) -> Result<(), NothingHidden> {
    match sent {
        Value::String(text) if text == MARK => match known {
            Some(value) if value.as_str() != Some(MARK) => found.push((path.clone(), value.clone())),
            _ => return Err(NothingHidden { path: told(path) }),
        },
        Value::Array(items) => {
            let known = known.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            for (at, item) in items.iter().enumerate() {
                path.push(Step::Index(at));
                restore(item, counterpart(item, at, known), path, found)?;
                path.pop();
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                path.push(Step::Key(key.clone()));
                restore(member, known.and_then(|known| known.get(key)), path, found)?;
                path.pop();
            }
        }
        _ => {}
    }
    Ok(())
}

/// The element of a list that is meant: by its name if it has one, since others may have come before it.
fn counterpart<'v>(item: &Value, at: usize, known: &'v [Value]) -> Option<&'v Value> {
    let name = |item: &Value| item.get("id").cloned();
    match name(item) {
        Some(id) => known.iter().find(|other| name(other).as_ref() == Some(&id)),
        None => known.get(at).filter(|other| name(other).is_none()),
    }
}

/// An RFC 7396 patch: members lie over each other, and `null` takes away.
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(members) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Object::new());
    }
    let Value::Object(target) = target else { return };
    for (key, value) in members {
        match value {
            Value::Null => drop(target.shift_remove(key)),
            value => merge(target.entry(key.clone()).or_insert(Value::Null), value),
        }
    }
}

fn at_mut<'v>(value: &'v mut Value, path: &[Step]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(at) => value.get_mut(at),
    })
}

fn told(path: &[Step]) -> String {
    let mut told = String::new();
    for step in path {
        match step {
            Step::Key(key) if told.is_empty() => told.push_str(key),
            Step::Key(key) => told.push_str(&format!(".{key}")),
            Step::Index(at) => told.push_str(&format!("[{at}]")),
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_marked_and_come_back() {
        let config = json!({
            "gateway": {"port": 1, "auth": {"mode": "token", "token": "tok"}},
            "models": {"providers": {"a": {"apiKey": "sk", "maxTokens": 5, "headers": {"X-Org": "me"}}}},
            "hooks": {"token": "${HOOK}"},
            "env": {"vars": {"OPENAI_API_KEY": "k", "LANG": "C"}},
            "skills": {"entries": {"x": {"env": {"ANY": "thing"}}}},
            "proxy": "http://me:secret@host",
            "agents": {"list": [{"id": "a", "memory": {"password": "1"}}, {"id": "b", "memory": {"password": "2"}}]},
        });
        let shown = redacted(&config);
        let expected = json!({
            "gateway": {"port": 1, "auth": {"mode": "token", "token": MARK}},
            "models": {"providers": {"a": {"apiKey": MARK, "maxTokens": 5, "headers": {"X-Org": MARK}}}},
            "hooks": {"token": "${HOOK}"},
            "env": {"vars": {"OPENAI_API_KEY": MARK, "LANG": "C"}},
            "skills": {"entries": {"x": {"env": {"ANY": MARK}}}},
            "proxy": MARK,
            "agents": {"list": [{"id": "a", "memory": {"password": MARK}}, {"id": "b", "memory": {"password": MARK}}]},
        });
        assert_eq!(shown, expected);
        assert_eq!(restored(&shown, &config), Ok(config.clone()));
        // Somebody took the first agent away.
        let mut fewer = shown.clone();
        fewer["agents"]["list"].as_array_mut().unwrap().remove(0);
        assert_eq!(restored(&fewer, &config).unwrap()["agents"]["list"][0]["memory"]["password"], "2");
    }

    #[test]
    fn a_mark_is_never_written() {
        let sent = json!({"gateway": {"auth": {"password": MARK}}});
        let error = restored(&sent, &json!({"gateway": {"auth": {}}})).unwrap_err();
        assert_eq!(error.path, "gateway.auth.password");
        assert!(restored(&sent, &sent).is_err());
    }

    #[test]
    fn a_patch_lies_over_what_is_there() {
        let mut value = json!({"a": {"b": 1, "c": 2}, "d": [1]});
        merge(&mut value, &json!({"a": {"b": null, "x": {"y": 1, "z": null}}, "d": {"e": 1}}));
        assert_eq!(value, json!({"a": {"c": 2, "x": {"y": 1}}, "d": {"e": 1}}));
    }
}
