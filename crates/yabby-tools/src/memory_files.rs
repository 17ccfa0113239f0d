//! Which files of a workspace are its memory (`memory.md` §1, §9).
//!
//! Links are never followed, not even to a folder: what is remembered is what lies here.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::path::{Component, Path};

use yabby_domain::bootstrap::NOTES;
use yabby_domain::text;

use crate::workspace::{Folder, Kind, Workspace};

/// More of one file is not looked at.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// A folder of notes that is larger is somebody's archive.
const MOST_FILES: usize = 5000;
const DEEPEST: usize = 16;

/// A file of the memory.
pub(crate) struct MemoryFile {
    /// From the workspace on, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Whether names from the workspace on lead to a file that may belong to the memory.
pub(crate) fn is_memory(names: &Path) -> bool {
    let mut parts = names.components().map(Component::as_os_str);
    let first = parts.next().and_then(OsStr::to_str);
    let is_note = names.extension() == Some(OsStr::new("md"));
    match first {
        Some("MEMORY.md" | "memory.md") => parts.next().is_none(),
        Some(NOTES) => is_note && parts.next().is_some(),
        _ => false,
    }
}

/// Every file of the memory: the long-term ones, then the notes, the latest names first. What cannot be
/// read is told to `unread`.
pub(crate) fn all(workspace: &Workspace, unread: &mut Vec<String>) -> Vec<MemoryFile> {
    let mut found = Vec::new();
    for name in ["MEMORY.md", "memory.md"] {
        keep(workspace.folder(), name, name, &mut found, unread);
    }
    match workspace.folder().folder(OsStr::new(NOTES)) {
        Ok(folder) => notes(&folder, NOTES, DEEPEST, &mut found, unread),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => unread.push(crate::workspace::told(NOTES, &error)),
    }
    found
}

fn notes(folder: &Folder, path: &str, depth: usize, found: &mut Vec<MemoryFile>, unread: &mut Vec<String>) {
    let entries = match folder.entries() {
        Ok(entries) => entries,
        Err(error) => return unread.push(crate::workspace::told(path, &error)),
    };
    for entry in entries.iter().rev() {
        let Some(name) = entry.name.to_str() else { continue };
        let below = format!("{path}/{name}");
        match entry.kind {
            _ if found.len() >= MOST_FILES => return,
            Kind::File if name.ends_with(".md") => keep(folder, name, &below, found, unread),
            Kind::Folder if depth > 0 => match folder.folder(&entry.name) {
                Ok(folder) => notes(&folder, &below, depth - 1, found, unread),
                Err(error) => unread.push(crate::workspace::told(&below, &error)),
            },
            Kind::File | Kind::Folder | Kind::Link | Kind::Other => {}
        }
    }
}

fn keep(folder: &Folder, name: &str, path: &str, found: &mut Vec<MemoryFile>, unread: &mut Vec<String>) {
    let read = || -> io::Result<String> {
        let mut bytes = Vec::new();
        folder.file(OsStr::new(name))?.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok(text::from_outside(&text::lossy(&bytes)).into_owned())
    };
    match read() {
        Ok(text) => found.push(MemoryFile { path: path.to_owned(), text }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => unread.push(crate::workspace::told(path, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_two_files_and_a_folder_of_notes() {
        let table = [
            ("MEMORY.md", true),
            ("memory.md", true),
            ("memory/2026-02-03.md", true),
            ("memory/deep/x.md", true),
            ("memory/x.txt", false),
            ("memory/X.MD", false),
            ("memory", false),
            ("MEMORY.md/x.md", false),
            ("notes/x.md", false),
            ("", false),
        ];
        for (names, expected) in table {
            assert_eq!(is_memory(Path::new(names)), expected, "{names}");
        }
    }
}
