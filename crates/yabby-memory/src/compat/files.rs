//! What is indexed: notes of the workspace, and transcripts (`memory.md` §1). Links are never followed.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::OFlags;
use yabby_domain::session::path::absolute;
use yabby_domain::text;

use super::keys::hash_text;
use super::paths::{extra_paths, relative};
use super::transcript_text::said;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    Memory,
    Sessions,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sessions => "sessions",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        [Self::Memory, Self::Sessions].into_iter().find(|source| source.as_str() == name)
    }
}

/// A file as it is indexed.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// As the index names it.
    pub path: String,
    pub source: Source,
    /// What chunks are made of: of a transcript, only what was said.
    pub content: String,
    pub hash: String,
    /// In milliseconds, with a fraction.
    pub mtime: f64,
    /// Of the file, in bytes.
    pub size: u64,
}

/// The notes of a workspace, in the order in which they are indexed; each once.
pub fn memory_files(workspace: &Path, configured: &[String]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for name in ["MEMORY.md", "memory.md"] {
        take(workspace.join(name), &mut files);
    }
    let folder = workspace.join("memory");
    if kind_of(&folder) == Some(Kind::Folder) {
        walk(&folder, &mut files);
    }
    for extra in extra_paths(&workspace.to_string_lossy(), configured) {
        let extra = PathBuf::from(extra);
        match kind_of(&extra) {
            Some(Kind::Folder) => walk(&extra, &mut files),
            Some(Kind::File) => take(extra, &mut files),
            Some(Kind::Other) | None => {}
        }
    }
    // One file may have two names where letters have no case.
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(fs::canonicalize(file).unwrap_or_else(|_| file.clone())));
    files
}

/// The transcripts of an agent.
pub fn transcripts(folder: &Path) -> Vec<PathBuf> {
    let is_transcript = |path: &PathBuf| ends_with(path, ".jsonl") && kind_of(path) == Some(Kind::File);
    inside(folder).into_iter().filter(is_transcript).collect()
}

/// The name under which a note is in the index.
pub fn memory_name(file: &Path, workspace: &Path) -> String {
    let text = |path: &Path| absolute(&path.to_string_lossy(), "/");
    relative(&text(workspace), &text(file))
}

/// The name under which a transcript is in the index.
pub fn transcript_name(file: &Path) -> String {
    format!("sessions/{}", file.file_name().unwrap_or_default().to_string_lossy())
}

/// A note as it is indexed.
pub fn note(file: &Path, workspace: &Path) -> io::Result<Document> {
    let mut opened = open(file)?;
    let mut bytes = Vec::new();
    opened.read_to_end(&mut bytes)?;
    let content = text::from_outside(&text::lossy(&bytes)).into_owned();
    document(memory_name(file, workspace), Source::Memory, content, &opened)
}

/// A transcript as it is indexed. It is read line by line: transcripts may be long, and little of them
/// was said by anyone.
pub fn transcript(file: &Path) -> io::Result<Document> {
    let mut reader = BufReader::new(open(file)?);
    let mut lines = Vec::new();
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        lines.extend(said(&text::lossy(&bytes)));
        bytes.clear();
    }
    document(transcript_name(file), Source::Sessions, lines.join("\n"), reader.get_ref())
}

fn document(path: String, source: Source, content: String, file: &File) -> io::Result<Document> {
    let about = file.metadata()?;
    let mtime = about.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "a time of our days in milliseconds")]
    let mtime = (mtime.as_secs() * 1000) as f64 + f64::from(mtime.subsec_nanos()) / 1e6;
    Ok(Document { hash: hash_text(&content), path, source, content, mtime, size: about.len() })
}

/// Opens a plain file. What became a link or a pipe since it was listed is refused.
pub(crate) fn open(file: &Path) -> io::Result<File> {
    #[expect(clippy::cast_possible_wrap, reason = "flags are bits")]
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let opened = File::options().read(true).custom_flags(flags).open(file)?;
    if opened.metadata()?.is_file() {
        return Ok(opened);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    /// A link, or something that is no file at all.
    Other,
}

/// What is at a path, links not followed; `None` if nothing is, or nothing that we may see.
pub(crate) fn kind_of(path: &Path) -> Option<Kind> {
    let kind = fs::symlink_metadata(path).ok()?.file_type();
    Some(match (kind.is_file(), kind.is_dir()) {
        (true, _) => Kind::File,
        (_, true) => Kind::Folder,
        _ => Kind::Other,
    })
}

fn take(file: PathBuf, files: &mut Vec<PathBuf>) {
    if ends_with(&file, ".md") && kind_of(&file) == Some(Kind::File) {
        files.push(file);
    }
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in inside(folder) {
        match kind_of(&path) {
            Some(Kind::Folder) => walk(&path, files),
            Some(Kind::File) => take(path, files),
            Some(Kind::Other) | None => {}
        }
    }
}

/// The paths in a folder by name; none if it cannot be read.
fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

/// Endings are compared letter by letter: `.MD` is no note.
fn ends_with(path: &Path, ending: &str) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(ending.as_bytes()))
}
