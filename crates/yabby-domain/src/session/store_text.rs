//! The text of `sessions.json`: reading any, writing the reference's (`sessions.md` §6).

use crate::delivery;
use crate::json::{self, Object, Value};
use crate::session::entry::SessionEntry;

/// Reads a store. Strict JSON or JSON5; anything else is no store, which the caller must not
/// mistake for an empty one when it is about to write.
pub fn parse_store(text: &str) -> Option<Object> {
    match json::parse_json5(text)? {
        Value::Object(mut store) => {
            store.values_mut().filter_map(Value::as_object_mut).for_each(rename_old_fields);
            Some(store)
        }
        _ => None,
    }
}

/// Fields that earlier releases called otherwise.
fn rename_old_fields(entry: &mut Object) {
    rename(entry, "provider", "channel");
    rename(entry, "lastProvider", "lastChannel");
    if !rename(entry, "room", "groupChannel") {
        entry.shift_remove("room");
    }
}

/// Moves a text under its present name, unless that name is taken by a text.
fn rename(entry: &mut Object, old: &str, new: &str) -> bool {
    let taken = entry.get(new).is_some_and(Value::is_string);
    let movable = entry.get(old).is_some_and(Value::is_string);
    if taken || !movable {
        return false;
    }
    if let Some(value) = entry.get(old).cloned() {
        entry.insert(new.to_owned(), value);
        entry.shift_remove(old);
    }
    true
}

/// Writes a store: every record's delivery fields in one form, an indent of two, no final line feed.
pub fn store_text(store: &Object) -> String {
    let normalized: Object = store.iter().map(|(key, entry)| (key.clone(), written(entry))).collect();
    json::stringify_pretty(&Value::Object(normalized))
}

/// A record as it is written.
pub fn written(entry: &Value) -> Value {
    let Value::Object(object) = entry else {
        return entry.clone();
    };
    let mut entry = SessionEntry::new(object.clone());
    if let Some(patch) = delivery::normalize_entry(&entry) {
        entry.apply(&patch);
    }
    Value::Object(entry.into_object())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_are_moved_unless_the_new_one_is_taken() {
        let store = parse_store(
            r#"{a:{provider:'x',room:'r'},b:{provider:'x',channel:'y',room:'r',groupChannel:'g'},c:null}"#,
        );
        let text = json::stringify_object(&store.unwrap());
        assert_eq!(
            text,
            r#"{"a":{"channel":"x","groupChannel":"r"},"b":{"provider":"x","channel":"y","groupChannel":"g"},"c":null}"#
        );
        for damaged in ["", "{", "[]", "7"] {
            assert_eq!(parse_store(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn delivery_fields_are_mirrored_when_a_store_is_written() {
        let store = parse_store(r#"{"k":{"sessionId":"s","lastChannel":"IMSG","lastTo":" 1 "}}"#).unwrap();
        let text = store_text(&store);
        assert_eq!(
            json::stringify(&json::parse(&text).unwrap()),
            r#"{"k":{"sessionId":"s","lastChannel":"imessage","lastTo":"1","deliveryContext":{"channel":"imessage","to":"1"}}}"#
        );
    }
}
