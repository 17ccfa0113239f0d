//! `memory_get`: lines of a memory file (`memory.md` §9, §10).

use std::io::Read as _;
use std::path::Path;

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::tool::{Company, Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;

use crate::arguments::Arguments;
use crate::memory_files;
use crate::places::private;
use crate::workspace::{Workspace, told};

/// More than this is not given at once, in characters.
const MOST: usize = 50_000;
const MOST_BYTES: u64 = 4 * 1024 * 1024;

pub(crate) struct MemoryGet;

#[async_trait]
impl Tool for MemoryGet {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "memory_get".to_owned(),
            description:
                "Safe snippet read from MEMORY.md or memory/*.md with optional from/lines; use after \
                memory_search to pull only the needed lines and keep context small."
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
        let range = Range {
            from: arguments.number("from").map(f64::trunc),
            lines: arguments.number("lines").map(f64::trunc),
        };
        let (workspace, company) = (context.workspace.clone(), context.company);
        crate::blocking(move || {
            let got = match company {
                Company::OwnerAlone => get(&workspace, text::trim(&path), range),
                Company::Others | Company::OthersNoted => Err(private("the memory")),
            };
            let result = got.unwrap_or_else(
                |problem| json!({"path": path, "text": "", "disabled": true, "error": problem}),
            );
            let text = json::stringify_pretty(&result);
            Ok(ToolOutput { details: Some(result), ..ToolOutput::text(&text) })
        })
        .await
    }
}

fn get(workspace: &Path, path: &str, range: Range) -> Result<Value, String> {
    let workspace = Workspace::open(workspace)?;
    let names = workspace.names(path).ok().filter(|names| memory_files::is_memory(names));
    // Every refusal reads the same: what else there is, is nobody's business.
    let names = names.ok_or_else(|| "path required".to_owned())?;
    let shown = names.to_string_lossy().into_owned();
    let mut bytes = Vec::new();
    let file = workspace.file_at(&names).map_err(|error| told(&shown, &error))?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|error| told(&shown, &error))?;
    let whole = text::lossy(&bytes);
    let whole = text::from_outside(&whole);
    let wanted = range.of(&whole);
    let mut result = json!({"text": wanted, "path": shown});
    if wanted.chars().count() > MOST {
        result["text"] = wanted.chars().take(MOST).collect::<String>().into();
        result["truncated"] = true.into();
    }
    Ok(result)
}

#[derive(Clone, Copy)]
struct Range {
    from: Option<f64>,
    lines: Option<f64>,
}

impl Range {
    /// The lines of a text; all of them if neither number says anything.
    fn of(self, text: &str) -> String {
        let says = |number: Option<f64>| number.is_some_and(|number| number != 0.0);
        if !says(self.from) && !says(self.lines) {
            return text.to_owned();
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let whole = |number: f64| number.max(1.0) as usize;
        let first = self.from.map_or(1, whole);
        let count = self.lines.map_or(usize::MAX, whole);
        text.split('\n').skip(first - 1).take(count).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        //  from        lines       text
        let table = [
            (None, None, "a\nb\nc"),
            (Some(0.0), Some(0.0), "a\nb\nc"),
            (Some(2.0), None, "b\nc"),
            (Some(2.0), Some(1.0), "b"),
            (Some(2.0), Some(0.0), "b"),
            (None, Some(-3.0), "a"),
            (Some(-5.0), Some(2.0), "a\nb"),
            (Some(9.0), None, ""),
            (Some(f64::MAX), Some(f64::MAX), ""),
        ];
        for (from, lines, expected) in table {
            assert_eq!(Range { from, lines }.of("a\nb\nc"), expected, "{from:?} {lines:?}");
        }
    }
}
