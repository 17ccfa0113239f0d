//! `write`: notes in the memory of the workspace, and nowhere else.
//!
//! What was written is synced before it is acknowledged. Two who write the same file wait for each
//! other: its lock is taken, and held against the name once more, since a file that was replaced
//! meanwhile is nobody's any more.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use serde_json::json;
use yabby_domain::json::Object;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;

use crate::arguments::Arguments;
use crate::memory_files::NOTES;
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
            description: "Write to the memory of the workspace: MEMORY.md, or a note such as \
                memory/YYYY-MM-DD.md. Appends unless mode says replace."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "MEMORY.md or memory/<name>.md"},
                    "content": {"type": "string", "description": "Markdown; a bullet for each thing is best"},
                    "mode": {
                        "type": "string",
                        "enum": ["append", "replace"],
                        "description": "append (the default) adds lines at the end; replace puts content in the \
                            place of the whole file",
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
            None | Some("" | "append") => Mode::Append,
            Some("replace") => Mode::Replace,
            Some(other) => return ToolOutput::error(&format!("mode is append or replace, not {other}")),
        };
        if content.len() > MOST_BYTES {
            return ToolOutput::error("content is longer than 1 MB; nothing was written");
        }
        if mode == Mode::Append && text::non_blank(&content).is_none() {
            return ToolOutput::error("content required");
        }
        let workspace = context.workspace.clone();
        crate::blocking(move || write(&workspace, &path, &content, mode)).await
    }
}

fn write(workspace: &Path, path: &str, content: &str, mode: Mode) -> Result<ToolOutput, String> {
    let workspace = Workspace::open(workspace)?;
    let place = Place::of(&workspace.names(path)?).ok_or_else(|| {
        format!("{path} is not part of the memory; only MEMORY.md and memory/<name>.md can be written")
    })?;
    let shown = place.shown();
    let failed = |error: io::Error| format!("{}; nothing was written", told(&shown, &error));
    let folder = place.folder(&workspace).map_err(failed)?;
    let file = LockedFile::open(&folder, &place.name).map_err(failed)?;
    match mode {
        Mode::Append => file.append(content),
        Mode::Replace => file.replace(content),
    }
    .map_err(failed)?;
    let lines = content.lines().count();
    let lines = format!("{lines} {}", if lines == 1 { "line" } else { "lines" });
    let (done, mode) = match mode {
        Mode::Append => (format!("Appended {lines} to {shown}."), "append"),
        Mode::Replace => (format!("Replaced {shown} ({lines})."), "replace"),
    };
    let details = json!({"path": shown, "mode": mode, "bytes": content.len()});
    Ok(ToolOutput { details: Some(details), ..ToolOutput::text(&done) })
}

/// A file that may be written.
struct Place {
    in_notes: bool,
    name: OsString,
}

impl Place {
    fn of(names: &Path) -> Option<Self> {
        let parts: Vec<&OsStr> = names.iter().collect();
        let is_note =
            |name: &str| name.ends_with(".md") && !name.starts_with('.') && !name.contains(char::is_control);
        match parts.as_slice() {
            [name] if *name == "MEMORY.md" => Some(Self { in_notes: false, name: (*name).to_owned() }),
            [folder, name] if *folder == NOTES && name.to_str().is_some_and(is_note) => {
                Some(Self { in_notes: true, name: (*name).to_owned() })
            }
            _ => None,
        }
    }

    fn shown(&self) -> String {
        let name = self.name.to_string_lossy();
        if self.in_notes { format!("{NOTES}/{name}") } else { name.into_owned() }
    }

    /// Its folder, which is created if it is missing.
    fn folder(&self, workspace: &Workspace) -> io::Result<Folder> {
        if !self.in_notes {
            return workspace.folder_at(Path::new(""));
        }
        let notes = OsStr::new(NOTES);
        if workspace.folder().create_folder(notes)? {
            workspace.folder().sync()?;
        }
        workspace.folder().folder(notes)
    }
}

/// A file that nobody else writes.
struct LockedFile<'f> {
    folder: &'f Folder,
    name: &'f OsStr,
    file: File,
    is_new: bool,
}

impl<'f> LockedFile<'f> {
    /// Opens a file, and creates it if it is missing.
    fn open(folder: &'f Folder, name: &'f OsStr) -> io::Result<Self> {
        let append = OFlags::RDWR | OFlags::APPEND;
        // Whoever replaces a file does so in a moment; one that is always another has been tried enough.
        for _ in 0..100 {
            let (file, is_new) = match folder.open(name, append) {
                Ok(file) => (file, false),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match folder.open(name, append | OFlags::CREATE | OFlags::EXCL) {
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                        created => (created?, true),
                    }
                }
                Err(error) => return Err(error),
            };
            lock(&file)?;
            if folder.names(name, &file)? {
                return Ok(Self { folder, name, file, is_new });
            }
        }
        Err(io::Error::other("it is being replaced all the time"))
    }

    /// Adds lines at the end. Of an error nothing remains.
    fn append(mut self, content: &str) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        let mut last = [b'\n'];
        if length > 0 {
            self.file.read_exact_at(&mut last, length - 1)?;
        }
        let [before, after] =
            [last == [b'\n'], content.ends_with('\n')].map(|ended| if ended { "" } else { "\n" });
        let written = self
            .file
            .write_all(format!("{before}{content}{after}").as_bytes())
            .and_then(|()| self.file.sync_all())
            .and_then(|()| if self.is_new { self.folder.sync() } else { Ok(()) });
        if written.is_err() {
            // The first error is the one to tell.
            let _ = self.file.set_len(length).and_then(|()| self.file.sync_all());
        }
        written
    }

    /// Puts a text in the place of the file: whoever reads it sees the old one or the new one.
    fn replace(self, content: &str) -> io::Result<()> {
        let draft_name = format!(".{}.{}.tmp", self.name.to_string_lossy(), uuid::Uuid::new_v4());
        let draft_name = OsStr::new(&draft_name);
        let placed = self.draft(draft_name, content).and_then(|()| self.folder.rename(draft_name, self.name));
        if placed.is_err() {
            let _ = self.folder.remove(draft_name);
        }
        placed.and_then(|()| self.folder.sync())
    }

    fn draft(&self, name: &OsStr, content: &str) -> io::Result<()> {
        let mut draft = self.folder.open(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        draft.set_permissions(self.file.metadata()?.permissions())?;
        draft.write_all(content.as_bytes())?;
        draft.sync_all()
    }
}

/// Waits for the lock of a file, for a while. It is let go of with the file.
fn lock(file: &File) -> io::Result<()> {
    const PAUSE: Duration = Duration::from_millis(20);
    const ATTEMPTS: u32 = 250;
    for _ in 0..ATTEMPTS {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            // A file system without locks is one without neighbours.
            Ok(()) | Err(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => return Ok(()),
            Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "another program has held its lock for 5 seconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_memory_is_written() {
        let table = [
            ("MEMORY.md", true),
            ("memory/2026-02-03.md", true),
            ("memory/a b.md", true),
            ("memory.md", false),
            ("memory/x.txt", false),
            ("memory/.hidden.md", false),
            ("memory/deep/x.md", false),
            ("memory/a\nb.md", false),
            ("SOUL.md", false),
            ("memory", false),
            ("", false),
        ];
        for (names, expected) in table {
            assert_eq!(Place::of(Path::new(names)).is_some(), expected, "{names}");
        }
    }
}
