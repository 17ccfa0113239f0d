//! The front matter of a skill file, read twice as the reference does: as YAML, and line by line so
//! that JSON written into a value survives as text (`sessions.md` §20).

use crate::json::{self, Value};
use crate::text;

/// The fields of a file's front matter as text.
pub struct FrontMatter(Vec<(String, String)>);

impl FrontMatter {
    pub fn parse(file: &str) -> Self {
        let Some(block) = block(file) else {
            return Self(Vec::new());
        };
        let by_line = lines(&block);
        let Some(Value::Object(fields)) = parse_yaml(&block) else {
            return Self(by_line);
        };
        let mut merged: Vec<(String, String)> = fields
            .iter()
            .filter_map(|(key, value)| Some((text::non_blank(key)?.to_owned(), as_text(value)?)))
            .collect();
        for (key, value) in by_line.into_iter().filter(|(_, value)| value.starts_with(['{', '['])) {
            merged.retain(|(known, _)| *known != key);
            merged.push((key, value));
        }
        Self(merged)
    }

    pub fn get(&self, field: &str) -> Option<&str> {
        self.0
            .iter()
            .rev()
            .find(|(name, _)| name == field)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    pub fn flag(&self, field: &str) -> Option<bool> {
        match text::lower(text::trim(self.get(field)?)).as_str() {
            "true" | "1" | "yes" | "on" => Some(true),
            "false" | "0" | "no" | "off" => Some(false),
            _ => None,
        }
    }
}

/// The front matter as YAML values; empty without any, `None` if it is damaged.
pub fn yaml(file: &str) -> Option<json::Object> {
    match block(file).filter(|block| !block.is_empty()) {
        None => Some(json::Object::new()),
        Some(block) => match parse_yaml(&block)? {
            Value::Object(fields) => Some(fields),
            _ => Some(json::Object::new()),
        },
    }
}

fn block(file: &str) -> Option<String> {
    let file = file.replace("\r\n", "\n").replace('\r', "\n");
    let rest = file.strip_prefix("---")?;
    let end = rest.find("\n---")?;
    // The line feed after the opening dashes, or whatever stands in its place.
    let mut inner = rest[..end].chars();
    inner.next();
    Some(inner.as_str().to_owned())
}

fn parse_yaml(block: &str) -> Option<Value> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(block, options).ok()
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text::trim(text).to_owned()),
        other => Some(json::stringify(other)),
    }
}

/// `key: value` lines; a value that begins on the next line goes on as long as lines are indented.
fn lines(block: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let mut rest = block.split('\n').peekable();
    while let Some(line) = rest.next() {
        let Some((key, value)) = line.split_once(':').filter(|(key, _)| is_key(key)) else {
            continue;
        };
        let value = text::trim(value);
        let is_indented = |line: &&str| line.starts_with([' ', '\t']);
        let value = if value.is_empty() && rest.peek().is_some_and(is_indented) {
            let mut indented = Vec::new();
            while let Some(line) = rest.next_if(|line| line.is_empty() || is_indented(line)) {
                indented.push(line);
            }
            text::trim(&indented.join("\n")).to_owned()
        } else {
            unquoted(value).to_owned()
        };
        if !value.is_empty() {
            fields.push((key.to_owned(), value));
        }
    }
    fields
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| text::is_word(c) || c == '-')
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_in_a_value_survives_as_it_was_written() {
        let file = "---\nname: 'k'\nmetadata:\n  {\n    \"openclaw\": { \"always\": true, },\n  }\nuser-invocable: no\n---\n";
        let front = FrontMatter::parse(file);
        assert_eq!(front.get("name"), Some("k"));
        assert!(front.get("metadata").is_some_and(|metadata| metadata.starts_with("{\n")));
        assert_eq!(front.flag("user-invocable"), Some(false));
        assert_eq!(FrontMatter::parse("no front matter").get("name"), None);
    }
}
