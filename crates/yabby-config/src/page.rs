//! `docs/configuration.md`: every setting, what it is for, and what a change of it needs.

use serde_json::{Map, Value};

use crate::extras;
use crate::read::{Reload, reload};
use crate::schema::{schema, written_out};

const HEAD: &str = "# Settings

Every setting of `openclaw.json`, and of `yabby-extras.json` beside it. `*` is any name, `[]` any element of a list. A change
counts *at once*, for the next turn or connection; otherwise the gateway begins anew by itself, and clients connect again
(`gateway.reload.mode` says otherwise).

This page is made from the types in `crates/yabby-config/src/sections`.
";

/// The page.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for (title, schema) in [("openclaw.json", schema()), ("yabby-extras.json", extras::schema())] {
        let schema = written_out(&schema);
        for (key, section) in properties(&schema) {
            page += &format!("\n## `{key}` ({title})\n\n{}\n", described(section));
            let mut rows = String::new();
            add_rows(&mut vec![key.clone()], section, &mut rows);
            if !rows.is_empty() {
                page += &format!("\n| setting | what it is | a change counts |\n|---|---|---|\n{rows}");
            }
        }
    }
    page
}

fn add_rows(path: &mut Vec<String>, schema: &Value, rows: &mut String) {
    for (key, inner) in properties(schema) {
        // They have the settings of their channel.
        if key == "accounts" {
            continue;
        }
        path.push(key.clone());
        let counts = match reload(path) {
            Reload::Live => "at once",
            Reload::Channel | Reload::Restart => "after a restart",
        };
        *rows += &format!("| `{}` | {} | {counts} |\n", path.join("."), described(inner));
        add_rows(path, inner, rows);
        path.pop();
    }
    for (keyword, name) in [("items", "[]"), ("additionalProperties", "*")] {
        if let Some(inner) = schema.get(keyword).filter(|inner| inner.is_object()) {
            path.push(name.to_owned());
            add_rows(path, inner, rows);
            path.pop();
        }
    }
    for choice in schema.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
        add_rows(path, choice, rows);
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

/// The words of the doc comment, and those that may stand there if there are only so many.
fn described(schema: &Value) -> String {
    let said = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    let word = |value: &Value| value.as_str().map(|word| format!("`{word}`"));
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(word);
    let alternatives = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let constants = alternatives.filter_map(|choice| word(choice.get("const")?));
    let words: Vec<String> = listed.chain(constants).collect();
    match words.is_empty() {
        true => said,
        false => format!("{said} ({})", words.join(", ")).trim_start().to_owned(),
    }
}
