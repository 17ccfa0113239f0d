//! Steps through a tree of objects that may be anything.

use serde_json::Value;
use yabby_base::json::{self, Object};

/// The object at a key, if there is one.
pub fn object<'o>(root: &'o mut Object, key: &str) -> Option<&'o mut Object> {
    root.get_mut(key)?.as_object_mut()
}

/// The object at a key; made there if there is none.
pub fn ensure<'o>(root: &'o mut Object, key: &str) -> &'o mut Object {
    let value = root.entry(key).or_insert_with(|| Value::Object(Object::new()));
    if !value.is_object() {
        *value = Value::Object(Object::new());
    }
    match value {
        Value::Object(object) => object,
        _ => unreachable!("made an object above"),
    }
}

/// The text at a key, trimmed; empty if there is none.
pub fn text<'o>(root: &'o Object, key: &str) -> &'o str {
    root.get(key).and_then(Value::as_str).map(yabby_base::text::trim).unwrap_or_default()
}

/// Adds what the target lacks, at any depth.
pub fn merge_missing(target: &mut Object, source: &Object) {
    for (key, value) in source {
        match (target.get_mut(key), value) {
            (None, _) => {
                target.insert(key.clone(), value.clone());
            }
            (Some(Value::Object(target)), Value::Object(source)) => merge_missing(target, source),
            (Some(_), _) => {}
        }
    }
}

/// Moves a value to a place that is free, or drops it; says which.
pub fn settle(value: Value, from: &str, target: &mut Object, key: &str, to: &str, changes: &mut Vec<String>) {
    if target.contains_key(key) {
        changes.push(format!("Removed {from} ({to} already set)."));
    } else {
        target.insert(key.to_owned(), value);
        changes.push(format!("Moved {from} → {to}."));
    }
}

/// Forgets a section that has become empty.
pub fn drop_if_empty(root: &mut Object, key: &str) {
    if root.get(key).and_then(Value::as_object).is_some_and(Object::is_empty) {
        root.shift_remove(key);
    }
}

/// The entry of an agent in a list; added to it if there is none.
pub fn agent_entry<'l>(list: &'l mut Vec<Value>, id: &str) -> &'l mut Object {
    let has_id =
        |entry: &Value| entry.as_object().is_some_and(|entry| text(entry, "id") == id) && !id.is_empty();
    let index = list.iter().position(has_id).unwrap_or_else(|| {
        list.push(Value::Object(Object::from_iter([("id".to_owned(), id.into())])));
        list.len() - 1
    });
    match &mut list[index] {
        Value::Object(entry) => entry,
        _ => unreachable!("only objects are looked for, and one was added"),
    }
}

/// A value as JavaScript writes it into text.
pub fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(as_text).collect::<Vec<_>>().join(","),
        Value::Object(_) => "[object Object]".to_owned(),
        other => json::stringify(other),
    }
}
