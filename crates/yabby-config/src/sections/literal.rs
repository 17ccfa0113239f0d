//! The two ways of the reference to offer a choice.

use schemars::Schema;
use serde_json::{Value, json};

/// Writes the values of an enum as alternatives.
///
/// The reference has two kinds of choices, and tells them apart in its messages: an *option* names
/// what it takes (`Invalid option: expected one of …`), an alternative of literals does not
/// (`Invalid input`).
pub fn as_literals(schema: &mut Schema) {
    let Some(Value::Array(values)) = schema.remove("enum") else { return };
    if let [value] = values.as_slice() {
        schema.insert("const".to_owned(), value.clone());
        return;
    }
    schema.remove("type");
    let literals = values.into_iter().map(|value| json!({ "type": "string", "const": value }));
    schema.insert("anyOf".to_owned(), literals.collect());
}
