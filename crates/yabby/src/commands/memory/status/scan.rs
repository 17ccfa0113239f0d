//! What files there are to be indexed, and what is wrong with their places, in the reference's words.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use serde_json::json;
use yabby_domain::json::Value;
use yabby_memory::compat::files::{self, Source};
use yabby_memory::compat::paths::extra_paths;

use crate::wire::memory::AgentMemory;

/// How places are shown.
type Shown<'s> = &'s dyn Fn(&Path) -> String;

pub(super) struct Scan {
    sources: Vec<OfSource>,
    issues: Vec<String>,
}

struct OfSource {
    source: Source,
    /// `None` if nobody may look.
    files: Option<usize>,
    issues: Vec<String>,
}

impl Scan {
    pub(super) fn of(kept: &AgentMemory, sources: &[Source], shown: Shown<'_>) -> Self {
        let look = |source: &Source| match source {
            Source::Memory => notes(kept, shown),
            Source::Sessions => transcripts(&kept.transcripts, shown),
        };
        let sources: Vec<OfSource> = sources.iter().map(look).collect();
        let issues = sources.iter().flat_map(|source| source.issues.iter().cloned()).collect();
        Self { sources, issues }
    }

    pub(super) fn total(&self) -> Option<usize> {
        self.sources.iter().map(|source| source.files).sum()
    }

    pub(super) fn total_of(&self, wanted: Source) -> Option<usize> {
        self.sources.iter().find(|source| source.source == wanted).and_then(|source| source.files)
    }

    pub(super) fn issues(&self) -> &[String] {
        &self.issues
    }

    pub(super) fn json(&self) -> Value {
        let source = |of: &OfSource| json!({"source": of.source.as_str(), "totalFiles": of.files, "issues": of.issues});
        json!({
            "sources": self.sources.iter().map(source).collect::<Vec<_>>(),
            "totalFiles": self.total(),
            "issues": self.issues,
        })
    }
}

fn notes(kept: &AgentMemory, shown: Shown<'_>) -> OfSource {
    let (workspace, extra) = (&kept.workspace, &kept.settings.extra_paths);
    let mut issues: Vec<String> = ["MEMORY.md", "memory.md"]
        .iter()
        .filter_map(|name| unreadable(&workspace.join(name), shown))
        .collect();
    for place in extra_paths(&workspace.to_string_lossy(), extra) {
        let place = Path::new(&place);
        match fs::symlink_metadata(place) {
            Ok(about) if about.is_file() => issues.extend(unreadable(place, shown)),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                issues.push(format!("additional memory path missing ({})", shown(place)));
            }
            Err(error) => {
                issues.push(format!("additional memory path not accessible ({}): {error}", shown(place)));
            }
        }
    }
    let is_readable = folder(&workspace.join("memory"), "memory", shown, &mut issues);
    let files = is_readable.then(|| files::memory_files(workspace, extra).len());
    if files == Some(0) && issues.is_empty() {
        issues.push(format!("no memory files found in {}", shown(workspace)));
    }
    OfSource { source: Source::Memory, files, issues }
}

fn transcripts(place: &Path, shown: Shown<'_>) -> OfSource {
    let mut issues = Vec::new();
    let is_readable = folder(place, "sessions", shown, &mut issues);
    let files = is_readable.then(|| files::transcripts(place).len());
    OfSource { source: Source::Sessions, files, issues }
}

/// Whether anybody can tell what is in a folder; one that is missing is empty.
fn folder(place: &Path, name: &str, shown: Shown<'_>, issues: &mut Vec<String>) -> bool {
    match fs::read_dir(place) {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            issues.push(format!("{name} directory missing ({})", shown(place)));
            true
        }
        Err(error) => {
            issues.push(format!("{name} directory not accessible ({}): {}", shown(place), code(&error)));
            false
        }
    }
}

fn unreadable(file: &Path, shown: Shown<'_>) -> Option<String> {
    match File::open(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Some(format!("{} not readable ({})", shown(file), code(&error)))
        }
        _ => None,
    }
}

/// As Node names it.
fn code(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied => "EACCES",
        ErrorKind::NotADirectory => "ENOTDIR",
        _ => "error",
    }
}
