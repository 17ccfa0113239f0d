//! What may stand in a place, in a few words.

use serde_json::Value;

/// What the schema takes.
pub fn of(root: &Value, schema: &Value) -> Option<String> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.strip_prefix("#/definitions/")?;
        return of(root, &root["definitions"][name]);
    }
    if let Some(Value::Array(alternatives)) = schema.get("anyOf") {
        let literals: Option<Vec<_>> = alternatives.iter().map(|schema| schema["const"].as_str()).collect();
        return Some(match literals {
            Some(literals) => one_of(&literals),
            None => {
                alternatives.iter().filter_map(|schema| of(root, schema)).collect::<Vec<_>>().join(", or ")
            }
        });
    }
    if let Some(literal) = schema.get("const") {
        return Some(literal.to_string());
    }
    if let Some(Value::Array(options)) = schema.get("enum") {
        return Some(one_of(&options.iter().filter_map(Value::as_str).collect::<Vec<_>>()));
    }
    Some(match schema.get("type")?.as_str()? {
        "string" => text(schema),
        "number" => number("a number", schema),
        "integer" => number("a whole number", schema),
        "boolean" => "true or false".to_owned(),
        "array" => match schema.get("items").and_then(|items| of(root, items)) {
            Some(item) => format!("a list, each item {item}"),
            None => "a list".to_owned(),
        },
        "object" if schema.get("properties").is_none() => "an object with names of your choice".to_owned(),
        _ => "an object".to_owned(),
    })
}

/// What to write instead of keys that nobody knows.
pub fn instead_of(unknown: &[&str], known: &[&str]) -> String {
    let guesses: Vec<_> = unknown.iter().filter_map(|key| closest(key, known)).collect();
    if guesses.len() == unknown.len() {
        return format!("{}, among others", guesses.join(", "));
    }
    one_of(known)
}

fn one_of(words: &[&str]) -> String {
    format!("one of: {}", words.join(", "))
}

fn text(schema: &Value) -> String {
    let bound = |keyword| schema.get(keyword).and_then(Value::as_u64);
    match (bound("minLength"), bound("maxLength"), schema.get("pattern").and_then(Value::as_str)) {
        (Some(_), _, _) => "text that is not empty".to_owned(),
        (_, Some(most), _) => format!("text of at most {most} characters"),
        (_, _, Some(pattern)) => format!("text that matches {pattern}"),
        _ => "text".to_owned(),
    }
}

fn number(kind: &str, schema: &Value) -> String {
    let bound = |keyword| schema.get(keyword).and_then(Value::as_f64);
    match (bound("exclusiveMinimum"), bound("minimum"), bound("maximum")) {
        (Some(above), _, _) => format!("{kind} above {above}"),
        (_, Some(least), Some(most)) => format!("{kind} from {least} to {most}"),
        (_, Some(least), None) => format!("{kind}, {least} or more"),
        _ => kind.to_owned(),
    }
}

/// The known key that a person most likely meant: a slip or two away, or the same but for case.
fn closest<'k>(key: &str, known: &[&'k str]) -> Option<&'k str> {
    let key = key.to_lowercase();
    let slips = if key.chars().count() < 4 { 1 } else { 2 };
    known
        .iter()
        .map(|known| (distance(&key, &known.to_lowercase()), *known))
        .filter(|(distance, _)| *distance <= slips)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// How many letters must be added, dropped or changed to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn says_what_may_stand_there() {
        let table = [
            (json!({"type": "integer", "exclusiveMinimum": 0}), "a whole number above 0"),
            (json!({"type": "integer", "minimum": 0, "maximum": 23}), "a whole number from 0 to 23"),
            (json!({"type": "number", "minimum": 0}), "a number, 0 or more"),
            (json!({"anyOf": [{"const": "loopback"}, {"const": "lan"}]}), "one of: loopback, lan"),
            (json!({"enum": ["open", "disabled"]}), "one of: open, disabled"),
            (json!({"type": "array", "items": {"type": "string"}}), "a list, each item text"),
            (json!({"anyOf": [{"type": "boolean"}, {"const": "auto"}]}), "true or false, or \"auto\""),
            (json!({"$ref": "#/definitions/Switch"}), "an object"),
        ];
        let root = json!({"definitions": {"Switch": {"type": "object", "properties": {}}}});
        for (schema, words) in table {
            assert_eq!(of(&root, &schema).as_deref(), Some(words), "{schema}");
        }
    }

    #[test]
    fn guesses_the_key_that_was_meant() {
        let known = ["port", "mode", "bind", "trustedProxies"];
        let table = [
            (vec!["prot"], "port, among others"),
            (vec!["ports"], "port, among others"),
            (vec!["trustedproxys"], "trustedProxies, among others"),
            (vec!["Mode", "bnd"], "mode, bind, among others"),
            (vec!["Mode", "colour"], "one of: port, mode, bind, trustedProxies"),
        ];
        for (unknown, words) in table {
            assert_eq!(instead_of(&unknown, &known), words);
        }
    }
}
