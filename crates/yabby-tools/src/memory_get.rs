//! `memory_get`: lines of a memory file, or what was said around a line of a conversation (`memory.md` §9,
//! §10; the reference opens no conversations).

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::tool::{Company, Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;
use yabby_memory::compat::reading::{self, Lines};
use yabby_memory::memory::Memory;
use yabby_memory::shown;

use crate::arguments::Arguments;
use crate::places::private;

/// More than this is not given at once, in characters.
const MOST: usize = 50_000;

/// How much of a conversation is shown if nobody says it.
const SOME_MESSAGES: u32 = 12;
const MOST_MESSAGES: u32 = 200;

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
        let got = match text::trim(&path).starts_with("sessions/") {
            true => self.said(text::trim(&path), lines, context).await,
            false => self.noted(&path, lines, context).await,
        };
        let mut result = got
            .unwrap_or_else(|problem| json!({"path": path, "text": "", "disabled": true, "error": problem}));
        let wanted = result["text"].as_str().unwrap_or_default();
        if let Some((end, _)) = wanted.char_indices().nth(MOST) {
            result["text"] = wanted[..end].to_owned().into();
            result["truncated"] = true.into();
        }
        let text = json::stringify_pretty(&result);
        ToolOutput { details: Some(result), ..ToolOutput::text(&text) }
    }
}

impl MemoryGet {
    async fn noted(&self, path: &str, lines: Lines, context: &ToolContext) -> Result<Value, String> {
        let viewer = self.viewer(context).await?;
        if !viewer.sees_notes() {
            return Err(private("the memory"));
        }
        let (path, workspace) = (path.to_owned(), context.workspace.clone());
        let extra = self.memory.places().extra_paths.clone();
        crate::found(move || {
            let read = reading::read(&workspace, &extra, &path, lines).map_err(|error| error.to_string())?;
            Ok(json!({"text": text::from_outside(&read.text), "path": read.path}))
        })
        .await
    }

    async fn said(&self, path: &str, lines: Lines, context: &ToolContext) -> Result<Value, String> {
        let viewer = self.viewer(context).await?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let whole = |number: f64| number.max(1.0) as u32;
        let first = lines.from.map_or(1, whole);
        let count = lines.count.map_or(SOME_MESSAGES, whole).min(MOST_MESSAGES);
        let wanted = path.to_owned();
        let found = self
            .memory
            .blocking(move |memory| memory.recall().around_line(&viewer, &wanted, first, 0, count))
            .await
            .map_err(|error| error.to_string())?;
        // What may not be seen is not there.
        let units = found.ok_or_else(|| "path required".to_owned())?;
        let said: Vec<String> = units.iter().map(shown::line).collect();
        Ok(json!({"text": said.join("\n"), "path": path}))
    }

    async fn viewer(&self, context: &ToolContext) -> Result<yabby_memory::audience::Viewer, String> {
        let is_owner_alone = context.company == Company::OwnerAlone && context.sender_is_owner;
        self.memory.viewer(&context.session_key, is_owner_alone).await.map_err(|error| error.to_string())
    }
}
