//! A tool of a server, as the agent sees it.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::Tool as Offered;
use serde_json::json;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;

use crate::outcome::output;
use crate::server::Server;

/// How much of a description is told, in characters.
const LONGEST_DESCRIPTION: usize = 2000;

/// A larger schema would be most of a prompt.
const LARGEST_SCHEMA: usize = 32 * 1024;

pub(crate) struct McpTool {
    server: Arc<Server>,
    /// As the server calls it.
    tool: String,
    spec: ToolSpec,
    effect: Effect,
}

impl McpTool {
    pub(crate) fn new(server: Arc<Server>, name: String, offered: &Offered) -> Self {
        let described = offered.description.as_deref().or(offered.title.as_deref()).unwrap_or_default();
        let description = format!("{} (from the MCP server {})", visible(described), visible(server.name()));
        let only_reads = offered.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true);
        Self {
            server,
            tool: offered.name.to_string(),
            spec: ToolSpec {
                name,
                description: description.trim().to_owned(),
                parameters: schema(&offered.input_schema),
            },
            effect: if only_reads { Effect::None } else { Effect::Lasting },
        }
    }
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        match self.server.call(&self.tool, arguments).await {
            Ok(result) => output(self.server.name(), result, context.sees_images),
            Err(problem) => ToolOutput::error(&problem),
        }
    }
}

/// What a person would see of a text, and not too much of it.
fn visible(raw: &str) -> String {
    let is_seen = |c: &char| {
        !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
            && (!c.is_control() || *c == '\n')
    };
    let seen: String = raw.chars().filter(is_seen).collect();
    text::head(seen.trim(), LONGEST_DESCRIPTION).into_owned()
}

/// A schema as every provider takes it: of an object, with properties.
fn schema(given: &Object) -> Value {
    let mut schema = given.clone();
    for about_itself in ["$schema", "$id", "$comment", "title"] {
        schema.shift_remove(about_itself);
    }
    let too_large = json::stringify_object(&schema).len() > LARGEST_SCHEMA;
    let is_object = schema.get("type").is_none_or(|kind| kind == "object");
    if too_large || !is_object {
        return json!({"type": "object", "properties": {}});
    }
    schema.insert("type".to_owned(), "object".into());
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), Value::Object(Object::new()));
    }
    Value::Object(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_schemas_become_plain_ones() {
        let bare = json!({"type": "object", "properties": {}});
        let table = [
            (json!({}), bare.clone()),
            (json!({"type": "object"}), bare.clone()),
            (json!({"type": "string"}), bare.clone()),
            (
                json!({"$schema": "x", "title": "T", "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
            ),
            (json!({"type": "object", "properties": [1]}), bare.clone()),
            (
                json!({"type": "object", "properties": {"a": {"description": "x".repeat(LARGEST_SCHEMA)}}}),
                bare,
            ),
        ];
        for (given, expected) in table {
            assert_eq!(schema(given.as_object().unwrap()), expected);
        }
    }

    #[test]
    fn a_description_is_what_people_would_see() {
        assert_eq!(visible(" Reads\u{200b}\u{e0041} files.\n\u{1b}[31m "), "Reads files.\n[31m");
        assert_eq!(visible(&"x".repeat(5000)).len(), LONGEST_DESCRIPTION);
    }
}
