//! `write`: files of the workspace, and notes in its memory. No link leads anywhere.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::bootstrap::NOTES;
use yabby_domain::json::Object;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;

use crate::arguments::Arguments;
use crate::locked_file::LockedFile;
use crate::places::Places;
use crate::workspace::{Folder, Workspace, told};

/// One call writes no more than this.
const MOST_BYTES: usize = 1024 * 1024;

pub(crate) struct Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Append,
    Replace,
}

#[async_trait]
impl Tool for Write {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "write".to_owned(),
            description: "Write a file of the workspace; folders on the way are created. What is to be \
                remembered goes to MEMORY.md, or to a note such as memory/YYYY-MM-DD.md: there it is added at \
                the end, elsewhere it takes the place of the whole file, unless mode says otherwise."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, relative to the workspace"},
                    "content": {"type": "string"},
                    "mode": {
                        "type": "string",
                        "enum": ["append", "replace"],
                        "description": "Add lines at the end, or take the place of the whole file",
                    },
                },
                "required": ["path", "content"],
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::Lasting
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let arguments = Arguments(arguments);
        let Some(path) = arguments.path().map(str::to_owned) else {
            return ToolOutput::error("path required");
        };
        let Some(content) = arguments.text("content").map(|content| text::to_outside(content).into_owned())
        else {
            return ToolOutput::error("content required");
        };
        let mode = match arguments.text("mode").map(text::trim) {
            None | Some("") => None,
            Some("append") => Some(Mode::Append),
            Some("replace") => Some(Mode::Replace),
            Some(other) => return ToolOutput::error(&format!("mode is append or replace, not {other}")),
        };
        if content.len() > MOST_BYTES {
            return ToolOutput::error("content is longer than 1 MB; nothing was written");
        }
        let places = Places::of(context, &[]);
        crate::blocking(move || write(&places, &path, &content, mode)).await
    }
}

fn write(places: &Places, path: &str, content: &str, mode: Option<Mode>) -> Result<ToolOutput, String> {
    let (workspace, names) = places.to_change(path)?;
    if let Some(why) = misnamed(&names) {
        return Err(format!("{path} is not part of the memory: {why}"));
    }
    let name = names.file_name().ok_or_else(|| format!("{path} is a folder"))?;
    let shown = names.to_string_lossy().into_owned();
    let mode = mode.unwrap_or(if is_memory(&names) { Mode::Append } else { Mode::Replace });
    if mode == Mode::Replace && places.only_notes_grow() {
        return Err(format!("{path} is only added to here: others are in the conversation"));
    }
    if mode == Mode::Append && text::non_blank(content).is_none() {
        return Err("content required".to_owned());
    }
    let failed = |error: io::Error| format!("{}; nothing was written", told(&shown, &error));
    let folder = folder(&workspace, names.parent().unwrap_or(Path::new(""))).map_err(failed)?;
    let file = LockedFile::open(&folder, name).map_err(failed)?;
    let is_new = file.is_new();
    match mode {
        Mode::Append => file.append(content),
        Mode::Replace => file.replace(content.as_bytes()),
    }
    .map_err(failed)?;
    let lines = content.lines().count();
    let lines = format!("{lines} {}", if lines == 1 { "line" } else { "lines" });
    let (done, mode) = match mode {
        Mode::Append => (format!("Appended {lines} to {shown}."), "append"),
        Mode::Replace if is_new => (format!("Created {shown} ({lines})."), "replace"),
        Mode::Replace => (format!("Replaced {shown} ({lines})."), "replace"),
    };
    let details = json!({"path": shown, "mode": mode, "bytes": content.len()});
    Ok(ToolOutput { details: Some(details), ..ToolOutput::text(&done) })
}

/// Opens a folder, and creates what is missing of it. No name may be a link.
fn folder(workspace: &Workspace, names: &Path) -> io::Result<Folder> {
    let mut folder = workspace.folder_at(Path::new(""))?;
    for name in names {
        if folder.create_folder(name)? {
            folder.sync()?;
        }
        folder = folder.folder(name)?;
    }
    Ok(folder)
}

/// Whether a file is part of the memory, to which things are added.
fn is_memory(names: &Path) -> bool {
    names == Path::new("MEMORY.md") || names.starts_with(NOTES)
}

/// Why a file of the memory would not be found again.
fn misnamed(names: &Path) -> Option<&'static str> {
    let parts: Vec<&OsStr> = names.iter().collect();
    let is_note =
        |name: &str| name.ends_with(".md") && !name.starts_with('.') && !name.contains(char::is_control);
    match parts.as_slice() {
        [folder, name] if *folder == NOTES && !name.to_str().is_some_and(is_note) => {
            Some("a note is called <name>.md")
        }
        [folder, _, _, ..] if *folder == NOTES => Some("notes are in memory itself, not in folders of it"),
        [folder] if *folder == NOTES => Some("it is the folder of notes"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_consists_of_notes() {
        //  names  is part of the memory  may be written
        let table = [
            ("MEMORY.md", true, true),
            ("memory/2026-02-03.md", true, true),
            ("memory/a b.md", true, true),
            ("memory/x.txt", true, false),
            ("memory/.hidden.md", true, false),
            ("memory/deep/x.md", true, false),
            ("memory/a\nb.md", true, false),
            ("memory", true, false),
            ("SOUL.md", false, true),
            ("src/main.rs", false, true),
        ];
        for (names, memory, written) in table {
            let names = Path::new(names);
            assert_eq!((is_memory(names), misnamed(names).is_none()), (memory, written), "{names:?}");
        }
    }
}
