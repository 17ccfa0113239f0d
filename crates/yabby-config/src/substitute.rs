//! `${NAME}` in values: variables of the environment (`config.md` §2.3).

use yabby_base::json::Value;

use crate::environment::Environment;
use crate::key_path::Step;

/// A variable that a value asks for and that has no value itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Missing env var \"{name}\" referenced at config path: {}", dotted(.steps))]
pub struct Missing {
    pub name: String,
    /// The way to the value.
    pub steps: Vec<Step>,
}

/// Fills in the variables that the texts of a value ask for; keys are left alone.
pub fn substitute(value: &mut Value, environment: &Environment) -> Result<(), Missing> {
    walk(value, environment, &mut Vec::new())
}

fn walk(value: &mut Value, environment: &Environment, steps: &mut Vec<Step>) -> Result<(), Missing> {
    match value {
        Value::String(text) => {
            if let Some(filled) =
                fill(text, environment).map_err(|name| Missing { name, steps: steps.clone() })?
            {
                *text = filled;
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                steps.push(Step::Index(index));
                walk(item, environment, steps)?;
                steps.pop();
            }
        }
        Value::Object(object) => {
            for (key, member) in object.iter_mut() {
                steps.push(Step::Key(key.clone()));
                walk(member, environment, steps)?;
                steps.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

/// The text with its variables filled in; `None` if it asks for none. The error is the name of one that
/// has no value.
fn fill(text: &str, environment: &Environment) -> Result<Option<String>, String> {
    if !text.contains("${") {
        return Ok(None);
    }
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, dollar) = rest.split_at(at);
        filled.push_str(before);
        if let Some((name, behind)) = dollar.strip_prefix("$${").and_then(reference) {
            filled.push_str("${");
            filled.push_str(name);
            filled.push('}');
            rest = behind;
        } else if let Some((name, behind)) = dollar.strip_prefix("${").and_then(reference) {
            let value = environment.get(name).filter(|value| !value.is_empty());
            filled.push_str(value.ok_or_else(|| name.to_owned())?);
            rest = behind;
        } else {
            filled.push('$');
            rest = &dollar[1..];
        }
    }
    filled.push_str(rest);
    Ok(Some(filled))
}

/// The name before the brace, and what is behind it.
fn reference(behind_the_brace: &str) -> Option<(&str, &str)> {
    let (name, behind) = behind_the_brace.split_once('}')?;
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    is_name.then_some((name, behind))
}

fn dotted(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Key(key) if path.is_empty() => path.push_str(key),
            Step::Key(key) => path.extend([".", key]),
            Step::Index(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use yabby_base::json;

    use super::*;

    fn environment() -> Environment {
        [("A", "1"), ("B_2", "${A}"), ("EMPTY", "")]
            .map(|(n, v)| (n.to_owned(), v.to_owned()))
            .into_iter()
            .collect()
    }

    #[test]
    fn variables_are_filled_in_once() {
        //  text                      filled in
        let table = [
            ("${A}", "1"),
            ("x${A}y${B_2}", "x1y${A}"),
            ("$${A}", "${A}"),
            ("$$${A}", "$${A}"),
            ("${lower} ${ A} ${A-B} $${lower} $$A ${A", "${lower} ${ A} ${A-B} $${lower} $$A ${A"),
            ("${2A}${}", "${2A}${}"),
            ("${${A}}", "${1}"),
            ("$A", "$A"),
        ];
        for (text, filled) in table {
            let mut value = Value::from(text);
            substitute(&mut value, &environment()).unwrap();
            assert_eq!(value, filled, "{text}");
        }
        let mut value = json::parse(r#"{"${A}":["${A}",{"x":"${A}"},1]}"#).unwrap();
        substitute(&mut value, &environment()).unwrap();
        assert_eq!(json::stringify(&value), r#"{"${A}":["1",{"x":"1"},1]}"#);
    }

    #[test]
    fn a_variable_without_a_value_is_named_with_its_place() {
        let table = [
            (r#"{"gateway":{"auth":{"token":"${NO}"}}}"#, "NO", "gateway.auth.token"),
            (r#"{"tools":{"allow":["x","a${EMPTY}"]}}"#, "EMPTY", "tools.allow[1]"),
            (r#"{"l":[[{"x":"${NO}"}]]}"#, "NO", "l[0][0].x"),
        ];
        for (source, name, place) in table {
            let error = substitute(&mut json::parse(source).unwrap(), &environment()).unwrap_err();
            let told = format!("Missing env var \"{name}\" referenced at config path: {place}");
            assert_eq!(error.to_string(), told);
        }
    }
}
