//! `list_files`: what is in a folder of the workspace.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::Object;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};

use crate::arguments::Arguments;
use crate::places::{Access, Places, on_one_line};
use crate::walk::{Next, walk};
use crate::workspace::{Kind, told};

const DEFAULT_LIMIT: usize = 500;
const MAX_LIMIT: usize = 5000;
const DEEPEST: usize = 32;

pub(crate) struct ListFiles {
    pub(crate) readable: Vec<PathBuf>,
}

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
        let places = Places::of(context, &self.readable);
        crate::blocking(move || list(&places, &path, depth, limit)).await
    }
}

fn list(places: &Places, path: &str, depth: usize, limit: usize) -> Result<ToolOutput, String> {
    let found = places.find(path, Access::Read)?;
    let folder = found.folder.folder_at(&found.names).map_err(|error| told(path, &error))?;
    let mut lines = Vec::new();
    walk(&folder, Path::new(""), depth, &mut |below, entry, _| {
        // One more than is shown tells whether anything is left out.
        if lines.len() > limit {
            return Next::Stop;
        }
        if found.hides(below) {
            return Next::Past;
        }
        let mark = match entry.kind {
            Kind::Folder => "/",
            Kind::Link => "@",
            Kind::File | Kind::Other => "",
        };
        // A name may hold anything; a line of the list may not.
        lines.push(format!("{}{mark}", on_one_line(&below.to_string_lossy())));
        Next::Into
    })
    .map_err(|error| told(path, &error))?;
    let is_cut = lines.len() > limit;
    lines.truncate(limit);
    let mut listing = if lines.is_empty() { "(nothing is in it)".to_owned() } else { lines.join("\n") };
    if is_cut {
        listing.push_str(&format!("\n\n[Cut after {limit} entries; list a folder in it, or raise limit.]"));
    }
    Ok(ToolOutput::text(&listing))
}
