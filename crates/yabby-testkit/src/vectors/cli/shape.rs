//! Whether two JSON values have one shape: the same keys and types, whatever the values.

use yabby_domain::json::{Object, Value};

/// What is wrong with the shape of `ours`, a line for each place.
pub(super) fn differences(recorded: &Value, ours: &Value, ignored: &[String]) -> Vec<String> {
    let mut walk = Walk { ignored, found: Vec::new() };
    walk.compare(recorded, ours, "");
    walk.found
}

/// The value at a path such as `sessions[0].key`.
pub(super) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let path = path.replace('[', ".").replace(']', "");
    let mut value = value;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        value = match value {
            Value::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            Value::Object(object) => object.get(part)?,
            _ => return None,
        };
    }
    Some(value)
}

struct Walk<'i> {
    ignored: &'i [String],
    found: Vec<String>,
}

impl Walk<'_> {
    fn compare(&mut self, recorded: &Value, ours: &Value, path: &str) {
        let is_ignored = |ignored: &String| ignored == "*" || ignored == path.trim_start_matches('.');
        if self.ignored.iter().any(is_ignored) || recorded.is_null() {
            return;
        }
        match (recorded, ours) {
            (Value::Object(recorded), Value::Object(ours)) => self.compare_objects(recorded, ours, path),
            (Value::Array(recorded), Value::Array(ours)) => self.compare_lists(recorded, ours, path),
            _ if kind(recorded) == kind(ours) => {}
            _ => self.found.push(format!("{path}: {} is recorded, not {}", kind(recorded), kind(ours))),
        }
    }

    fn compare_objects(&mut self, recorded: &Object, ours: &Object, path: &str) {
        for (key, value) in recorded {
            let path = format!("{path}.{key}");
            match ours.get(key) {
                Some(own) => self.compare(value, own, &path),
                None => self.found.push(format!("{path} is missing")),
            }
        }
    }

    fn compare_lists(&mut self, recorded: &[Value], ours: &[Value], path: &str) {
        if recorded.len() == ours.len() {
            for (at, (recorded, ours)) in recorded.iter().zip(ours).enumerate() {
                self.compare(recorded, ours, &format!("{path}[{at}]"));
            }
            return;
        }
        let Some(common) = common(recorded) else { return };
        for (at, item) in ours.iter().enumerate() {
            self.compare(&common, item, &format!("{path}[{at}]"));
        }
    }
}

/// What all recorded elements have; `None` if there are none.
fn common(recorded: &[Value]) -> Option<Value> {
    let first = recorded.first()?;
    let Value::Object(first_object) = first else { return Some(first.clone()) };
    let in_all = |key: &String| recorded.iter().all(|item| item.get(key).is_some());
    let shared = first_object.iter().filter(|(key, _)| in_all(key));
    Some(Value::Object(shared.map(|(key, value)| (key.clone(), value.clone())).collect()))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a flag",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_missing_key_and_another_type_are_told() {
        let recorded = json!({"a": 1, "b": {"c": "x"}, "l": [{"k": 1, "m": 2}, {"k": 3}], "n": null});
        //  ours                                                                       told
        let table = [
            (json!({"a": 2.5, "b": {"c": "y", "more": 1}, "l": [{"k": 9}], "n": 7}), vec![]),
            (json!({"a": 2, "b": {}, "l": [], "n": 1}), vec![".b.c is missing"]),
            (
                json!({"a": "2", "b": {"c": "y"}, "l": [{}], "n": 1}),
                vec![".a: a number is recorded, not text", ".l[0].k is missing"],
            ),
            (
                json!({"a": null, "b": {"c": "y"}, "l": [{"k": 1}], "n": null}),
                vec![".a: a number is recorded, not null"],
            ),
        ];
        for (ours, told) in table {
            assert_eq!(differences(&recorded, &ours, &[]), told, "{ours}");
        }
        assert_eq!(differences(&recorded, &json!({}), &["*".to_owned()]), Vec::<String>::new());
        assert_eq!(at(&recorded, "l[1].k"), Some(&json!(3)));
    }
}
