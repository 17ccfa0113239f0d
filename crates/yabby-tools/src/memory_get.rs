//! `memory_get`: lines of a memory file, or what was said around a line of a conversation (`memory.md` §9,
//! §10; the reference opens no conversations).

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::{self, Object};
use yabby_domain::seam::tool::{Company, Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_memory::compat::reading::Lines;
use yabby_memory::excerpt::{Excerpt, ExcerptError};
use yabby_memory::memory::Memory;

use crate::arguments::Arguments;
use crate::places::private;

pub(crate) struct MemoryGet {
    pub(crate) memory: Memory,
}

#[async_trait]
impl Tool for MemoryGet {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "memory_get".to_owned(),
            description:
                "Safe snippet read from MEMORY.md or memory/*.md with optional from/lines; use after \
                memory_search to pull only the needed lines and keep context small. A sessions/ path shows what \
                was said from that line on."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "from": {"type": "number", "description": "The line to begin with; the first is 1"},
                    "lines": {"type": "number", "description": "How many lines"},
                },
                "required": ["path"],
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let arguments = Arguments(arguments);
        let path = arguments.text("path").unwrap_or_default().to_owned();
        let lines = Lines {
            from: arguments.number("from").map(f64::trunc),
            count: arguments.number("lines").map(f64::trunc),
        };
        let result = match self.excerpt(&path, lines, context).await {
            Ok(excerpt) => {
                let mut result = json!({"text": excerpt.text, "path": excerpt.path});
                if excerpt.is_cut {
                    result["truncated"] = true.into();
                }
                result
            }
            Err(problem) => json!({"path": path, "text": "", "disabled": true, "error": problem}),
        };
        let text = json::stringify_pretty(&result);
        ToolOutput { details: Some(result), ..ToolOutput::text(&text) }
    }
}

impl MemoryGet {
    async fn excerpt(&self, path: &str, lines: Lines, context: &ToolContext) -> Result<Excerpt, String> {
        let is_owner_alone = context.company == Company::OwnerAlone && context.sender_is_owner;
        let viewer = self.memory.viewer(&context.session_key, is_owner_alone).await;
        let viewer = viewer.map_err(|error| error.to_string())?;
        self.memory.excerpt(&viewer, path, lines).await.map_err(|error| match error {
            ExcerptError::Private => private("the memory"),
            other => other.to_string(),
        })
    }
}
