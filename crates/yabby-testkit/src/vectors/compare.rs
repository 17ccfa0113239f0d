//! When an answer matches a recorded one: key order does not count, absent is not null, and
//! placeholders stand for values that differ from run to run.

use std::collections::HashMap;

use yabby_domain::json::Value;

/// Whether `actual` is what `expected` describes.
///
/// In expected text `$UUID1`, `$gen2`, … are names for generated ids: the same name must always meet
/// the same id, and two names never the same one. `$ISO`, `$FILETS` and `$nowMs` meet themselves
/// only: adapters run the rules with these as the clock's answer.
pub fn matches(expected: &Value, actual: &Value) -> bool {
    Names::default().value(expected, actual)
}

#[derive(Default)]
struct Names {
    of_actual: HashMap<String, String>,
    of_expected: HashMap<String, String>,
}

impl Names {
    fn value(&mut self, expected: &Value, actual: &Value) -> bool {
        match (expected, actual) {
            (Value::Number(e), Value::Number(a)) => match (e.as_f64(), a.as_f64()) {
                (Some(e), Some(a)) => same_number(e, a),
                _ => false,
            },
            (Value::String(e), Value::String(a)) => self.text(e, a),
            (Value::Array(e), Value::Array(a)) => {
                e.len() == a.len() && e.iter().zip(a).all(|(e, a)| self.value(e, a))
            }
            (Value::Object(e), Value::Object(a)) => {
                e.len() == a.len() && e.iter().all(|(key, e)| self.member(key, e, a))
            }
            _ => expected == actual,
        }
    }

    fn member(&mut self, key: &str, expected: &Value, actual: &serde_json::Map<String, Value>) -> bool {
        match actual.get(key) {
            Some(value) => self.value(expected, value),
            // The key itself may hold a generated id.
            None if key.contains('$') => {
                let known = actual.iter().find(|(other, _)| self.would_match(key, other));
                known.is_some_and(|(other, value)| self.text(key, other) && self.value(expected, value))
            }
            None => false,
        }
    }

    fn would_match(&self, expected: &str, actual: &str) -> bool {
        let mut trial = Self { of_actual: self.of_actual.clone(), of_expected: self.of_expected.clone() };
        trial.text(expected, actual)
    }

    fn text(&mut self, expected: &str, actual: &str) -> bool {
        let (mut e, mut a) = (expected, actual);
        loop {
            let (Some(e_at), Some(a_at)) = (placeholder(e), placeholder(a)) else {
                return e == a;
            };
            if e[..e_at.0] != a[..a_at.0] {
                return false;
            }
            let (e_name, a_name) = (&e[e_at.0..e_at.1], &a[a_at.0..a_at.1]);
            let forth = self.of_expected.entry(e_name.to_owned()).or_insert_with(|| a_name.to_owned());
            if forth != a_name {
                return false;
            }
            let back = self.of_actual.entry(a_name.to_owned()).or_insert_with(|| e_name.to_owned());
            if back != e_name {
                return false;
            }
            (e, a) = (&e[e_at.1..], &a[a_at.1..]);
        }
    }
}

/// Start and end of the first generated-id placeholder in `text`.
fn placeholder(text: &str) -> Option<(usize, usize)> {
    const KINDS: [&str; 6] = ["$UUID", "$gen", "$id", "$file", "$session", "$auto"];
    let mut from = 0;
    while let Some(at) = text[from..].find('$').map(|at| at + from) {
        for kind in KINDS {
            if let Some(rest) = text[at..].strip_prefix(kind) {
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                if digits > 0 {
                    return Some((at, at + kind.len() + digits));
                }
            }
        }
        from = at + 1;
    }
    None
}

/// Equal, or apart only by rounding.
fn same_number(e: f64, a: f64) -> bool {
    e == a || (e - a).abs() <= 1e-12 * e.abs().max(a.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn generated_ids_match_by_name_and_nothing_else_does() {
        let table = [
            (json!({"a": 1, "b": null}), json!({"b": null, "a": 1.0}), true),
            (json!({"a": 1}), json!({"a": 1, "b": null}), false),
            (json!(["$UUID2", "x/$UUID2.jsonl"]), json!(["$UUID1", "x/$UUID1.jsonl"]), true),
            (json!(["$UUID2", "$UUID3"]), json!(["$UUID1", "$UUID1"]), false),
            (json!(["$UUID1", "$UUID1"]), json!(["$UUID1", "$UUID2"]), false),
            (json!("$UUID1"), json!("something"), false),
            (json!({"$id1": 1}), json!({"$id7": 1}), true),
        ];
        for (expected, actual, same) in table {
            assert_eq!(matches(&expected, &actual), same, "{expected} {actual}");
        }
    }
}
