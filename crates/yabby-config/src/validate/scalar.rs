//! Values that are not taken apart further: texts, numbers, switches and choices (`config.md` §3).

use std::collections::HashMap;

use regex::Regex;
use serde_json::Value;
use yabby_base::json;

use super::rules;

/// What the reference would say of a value.
#[derive(Debug, PartialEq)]
pub struct Complaint {
    pub message: String,
    pub form: Form,
}

/// Whether a value has the form that the rules of its type count on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    Wrong,
    /// The form is right; a bound, a key too many or a rule is the matter.
    Right,
}

/// Patterns of a schema, made ready once.
#[derive(Default)]
pub struct Patterns(HashMap<String, Option<Regex>>);

impl Patterns {
    pub fn matches(&mut self, pattern: &str, text: &str) -> bool {
        let ready = self.0.entry(pattern.to_owned()).or_insert_with(|| Regex::new(pattern).ok());
        ready.as_ref().is_some_and(|pattern| pattern.is_match(text))
    }
}

impl Complaint {
    /// About a value of another type, or one that is missing.
    pub fn of_type(expected: &str, value: Option<&Value>) -> Self {
        let received = match value {
            None => "undefined",
            Some(Value::Null) => "null",
            Some(Value::Bool(_)) => "boolean",
            Some(Value::Number(_)) => "number",
            Some(Value::String(_)) => "string",
            Some(Value::Array(_)) => "array",
            Some(Value::Object(_)) => "object",
        };
        Self::of_form(format!("Invalid input: expected {expected}, received {received}"))
    }

    fn of_form(message: String) -> Self {
        Self { message, form: Form::Wrong }
    }

    fn of_bound(message: String) -> Self {
        Self { message, form: Form::Right }
    }
}

/// What is wrong with a value that is none of the schema's lists and objects; `None` is a value that
/// is missing.
pub fn complaints(
    name: Option<&str>,
    schema: &Value,
    value: Option<&Value>,
    patterns: &mut Patterns,
) -> Vec<Complaint> {
    if let Some(literal) = schema.get("const") {
        let message = || format!("Invalid input: expected {}", json::stringify(literal));
        return Vec::from_iter((value != Some(literal)).then(|| Complaint::of_form(message())));
    }
    if let Some(Value::Array(options)) = schema.get("enum") {
        if value.is_some_and(|value| options.contains(value)) {
            return Vec::new();
        }
        let options: Vec<_> = options.iter().map(json::stringify).collect();
        return vec![Complaint::of_form(format!("Invalid option: expected one of {}", options.join("|")))];
    }
    match (schema.get("type").and_then(Value::as_str), value) {
        (Some("string"), Some(Value::String(text))) => of_text(name, schema, text, patterns),
        (Some("string"), _) => of_missing_text(schema, value),
        (Some("number"), _) => of_number(schema, value),
        (Some("integer"), _) => of_integer(schema, value),
        (Some("boolean"), Some(Value::Bool(_))) => Vec::new(),
        (Some("object"), _) if schema.get("properties").is_none() => {
            vec![Complaint::of_type("record", value)]
        }
        (Some(expected), _) => vec![Complaint::of_type(expected, value)],
        (None, _) => Vec::new(),
    }
}

fn of_text(name: Option<&str>, schema: &Value, text: &str, patterns: &mut Patterns) -> Vec<Complaint> {
    let mut complaints = of_length(schema, "string", "characters", text.chars().count());
    let pattern = schema.get("pattern").and_then(Value::as_str);
    if let Some(pattern) = pattern.filter(|pattern| !patterns.matches(pattern, text)) {
        let message = match name.and_then(rules::pattern_message) {
            Some(message) => message.to_owned(),
            None => format!("Invalid string: must match pattern /{pattern}/"),
        };
        complaints.push(Complaint::of_bound(message));
    }
    complaints
}

/// A list in place of a text has a length too, and the reference asks whatever has one.
fn of_missing_text(schema: &Value, value: Option<&Value>) -> Vec<Complaint> {
    let mut complaints = vec![Complaint::of_type("string", value)];
    if let Some(Value::Array(items)) = value {
        complaints.extend(of_length(schema, "array", "items", items.len()));
    }
    complaints
}

fn of_length(schema: &Value, what: &str, units: &str, length: usize) -> Vec<Complaint> {
    let bound = |keyword| schema.get(keyword).and_then(Value::as_u64);
    let length = length as u64;
    let too_small = bound("minLength").filter(|least| length < *least);
    let too_big = bound("maxLength").filter(|most| length > *most);
    let too_small = too_small.map(|least| format!("Too small: expected {what} to have >={least} {units}"));
    let too_big = too_big.map(|most| format!("Too big: expected {what} to have <={most} {units}"));
    too_small.into_iter().chain(too_big).map(Complaint::of_bound).collect()
}

fn of_integer(schema: &Value, value: Option<&Value>) -> Vec<Complaint> {
    /// The largest whole number that JavaScript tells apart from its neighbours.
    const MOST: f64 = 9_007_199_254_740_991.0;
    let number = value.and_then(Value::as_f64);
    if number.is_some_and(|number| number.fract() != 0.0) {
        return vec![Complaint::of_type("int", value)];
    }
    let unsafe_integer = match number {
        Some(number) if number > MOST => Some(format!("Too big: expected int to be <={MOST}")),
        Some(number) if number < -MOST => Some(format!("Too small: expected int to be >=-{MOST}")),
        _ => None,
    };
    unsafe_integer.map(Complaint::of_bound).into_iter().chain(of_number(schema, value)).collect()
}

fn of_number(schema: &Value, value: Option<&Value>) -> Vec<Complaint> {
    let Some(number) = value.and_then(Value::as_f64) else {
        return vec![Complaint::of_type("number", value)];
    };
    let bound = |keyword| schema.get(keyword).and_then(Value::as_f64);
    let not_above = bound("exclusiveMinimum").filter(|above| number <= *above);
    let too_small = bound("minimum").filter(|least| number < *least);
    let too_big = bound("maximum").filter(|most| number > *most);
    let messages = [
        not_above.map(|above| format!("Too small: expected number to be >{above}")),
        too_small.map(|least| format!("Too small: expected number to be >={least}")),
        too_big.map(|most| format!("Too big: expected number to be <={most}")),
    ];
    messages.into_iter().flatten().map(Complaint::of_bound).collect()
}
