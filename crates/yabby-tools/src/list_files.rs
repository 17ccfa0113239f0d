//! `list_files`: what is in a folder of the workspace.

use std::path::Path;

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::Object;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};

use crate::arguments::Arguments;
use crate::workspace::{Folder, Kind, Workspace, told};

const DEFAULT_LIMIT: usize = 500;
const MAX_LIMIT: usize = 5000;
const DEEPEST: usize = 32;

pub(crate) struct ListFiles;

#[async_trait]
impl Tool for ListFiles {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "list_files".to_owned(),
            description:
                "List what is in a folder of the workspace, by name. Folders end in `/`, links in `@`; \
                links are not followed."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The folder; the workspace itself if left out"},
                    "recursive": {"type": "boolean", "description": "Also what is in its folders"},
                    "limit": {"type": "number", "description": "How many entries to list (500)"},
                },
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let arguments = Arguments(arguments);
        let path = arguments.path().unwrap_or(".").to_owned();
        let limit = arguments.count("limit", 1).unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
        let depth = if arguments.flag("recursive") { DEEPEST } else { 0 };
        let workspace = context.workspace.clone();
        crate::blocking(move || list(&workspace, &path, depth, limit)).await
    }
}

fn list(workspace: &Path, path: &str, depth: usize, limit: usize) -> Result<ToolOutput, String> {
    let workspace = Workspace::open(workspace)?;
    let folder = workspace.folder_at(&workspace.resolve(path)?).map_err(|error| told(path, &error))?;
    let mut lines = Vec::new();
    // One more than is shown tells whether anything is left out.
    gather(&folder, "", depth, limit + 1, &mut lines).map_err(|error| told(path, &error))?;
    let is_cut = lines.len() > limit;
    lines.truncate(limit);
    let mut listing = if lines.is_empty() { "(nothing is in it)".to_owned() } else { lines.join("\n") };
    if is_cut {
        listing.push_str(&format!("\n\n[Cut after {limit} entries; list a folder in it, or raise limit.]"));
    }
    Ok(ToolOutput::text(&listing))
}

fn gather(
    folder: &Folder,
    above: &str,
    depth: usize,
    most: usize,
    lines: &mut Vec<String>,
) -> std::io::Result<()> {
    for entry in folder.entries()? {
        if lines.len() >= most {
            return Ok(());
        }
        // A name may hold anything; a line of the list may not.
        let name = entry.name.to_string_lossy().replace(char::is_control, "?");
        let mark = match entry.kind {
            Kind::Folder => "/",
            Kind::Link => "@",
            Kind::File | Kind::Other => "",
        };
        lines.push(format!("{above}{name}{mark}"));
        if entry.kind == Kind::Folder && depth > 0 {
            match folder.folder(&entry.name) {
                Ok(below) => gather(&below, &format!("{above}{name}/"), depth - 1, most, lines)?,
                // Gone meanwhile, or not ours to look into.
                Err(error) => lines.push(format!("{above}{name}/… ({error})")),
            }
        }
    }
    Ok(())
}
