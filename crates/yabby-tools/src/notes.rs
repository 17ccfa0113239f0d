//! Notes of the memory, as the owner changes them. What the `write` tool does for the agent is done here for
//! commands: a note grows at its end, and nobody's words get lost.

use std::path::Path;

use yabby_domain::bootstrap::NOTES;

use crate::locked_file::LockedFile;
use crate::workspace::{Workspace, told};

/// A note that is longer is not touched.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Where something was noted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// From the workspace on.
    pub path: String,
    /// The first line of it, counted from 1.
    pub line: usize,
}

/// Adds a bullet to the note of a day; the first one begins it.
pub fn add(workspace: &Path, day: &str, text: &str) -> Result<Noted, String> {
    let name = format!("{day}.md");
    let path = format!("{NOTES}/{name}");
    let failed = |error: std::io::Error| format!("{}; nothing was written", told(&path, &error));
    let folder = Workspace::open(workspace)?.folder_at(Path::new("")).map_err(failed)?;
    if folder.create_folder(NOTES.as_ref()).map_err(failed)? {
        folder.sync().map_err(failed)?;
    }
    let folder = folder.folder(NOTES.as_ref()).map_err(failed)?;
    let file = LockedFile::open(&folder, name.as_ref()).map_err(failed)?;
    let there = file.bytes(MOST_BYTES).map_err(failed)?;
    let there = there.ok_or_else(|| format!("{path} is too long; nothing was written"))?;
    let bullet = format!("- {}", text.trim().lines().collect::<Vec<_>>().join("\n  "));
    let (line, content) = match there.is_empty() {
        true => (3, format!("# {day}\n\n{bullet}")),
        // A last line without an end is ended first.
        false => (there.split_inclusive(|byte| *byte == b'\n').count() + 1, bullet),
    };
    file.append(&content).map_err(failed)?;
    Ok(Noted { path, line })
}

/// Puts another text in the place of a note, while nobody else writes it; whether there was one to put.
pub fn change(file: &Path, other: impl FnOnce(&[u8]) -> Option<Vec<u8>>) -> Result<bool, String> {
    let shown = file.display().to_string();
    let failed = |error: std::io::Error| format!("{}; nothing was changed", told(&shown, &error));
    let folder = Workspace::open(file.parent().unwrap_or(Path::new("/")))?;
    let folder = folder.folder_at(Path::new("")).map_err(failed)?;
    let name = file.file_name().unwrap_or_default();
    let file = LockedFile::open_existing(&folder, name).map_err(failed)?;
    let there = file.bytes(MOST_BYTES).map_err(failed)?;
    let there = there.ok_or_else(|| format!("{shown} is too long; nothing was changed"))?;
    match other(&there) {
        Some(text) => file.replace(&text).map(|()| true).map_err(failed),
        None => Ok(false),
    }
}
