//! The files of a workspace that tell the agent who it is, whom it works for and how (`sessions.md` §7).

use std::path::{Component, Path};

use crate::config::Config;
use crate::text;

/// In the order in which the prompt has them. What changes often stands last, so that what stands before it
/// can be cached.
pub const FILES: [&str; 9] = [
    "AGENTS.md",
    "SOUL.md",
    "TOOLS.md",
    "IDENTITY.md",
    "USER.md",
    "BOOTSTRAP.md",
    "HEARTBEAT.md",
    "MEMORY.md",
    "memory.md",
];

/// The folder of notes, one file a day.
pub const NOTES: &str = "memory";

/// Whether something in the workspace is the owner's own: what is remembered, and what is known about them.
/// On some disks case makes no difference.
pub fn is_private(names: &Path) -> bool {
    let mut parts = names.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().to_lowercase()),
        _ => None,
    });
    let (first, second) = (parts.next(), parts.next());
    matches!((first.as_deref(), second), (Some("memory.md" | "user.md"), None) | (Some(NOTES), _))
}

/// Whether something in the workspace tells the agent who it is and what to do, or is run for it: only the owner changes
/// it.
pub fn is_agents_own(names: &Path) -> bool {
    let mut parts = names.components();
    let first = parts.next().map(|part| part.as_os_str().to_string_lossy().to_lowercase());
    let is_file = |name: &&str| first.as_ref().is_some_and(|first| *first == name.to_lowercase());
    match first.as_deref() {
        Some("skills" | "hooks") => true,
        _ => parts.next().is_none() && FILES.iter().any(is_file),
    }
}

/// A file of the workspace; `None` where there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceFile {
    pub name: String,
    pub path: String,
    pub text: Option<String>,
}

/// Who is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// An agent that talks with its owner alone.
    OwnersAgent,
    /// An agent to which others listen: what is the owner's own is not for them.
    AmongOthers,
    /// An agent with one task.
    Subagent,
}

/// A file as it stands in the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injected {
    pub name: String,
    pub path: String,
    pub missing: bool,
    /// In UTF-16 units, as the reference counts.
    pub raw_chars: usize,
    pub text: String,
    pub truncated: bool,
}

/// How much of a file is told.
pub fn max_chars(config: &Config) -> usize {
    let configured = config.agents.defaults.bootstrap_max_chars.map(f64::from).filter(|max| *max >= 1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 1, and saturates")]
    configured.map_or(20_000, |max| max as usize)
}

/// The files as a reader is told of them. Only the first of two spellings of the memory counts.
pub fn injected(files: &[WorkspaceFile], reader: Reader, max: usize) -> Vec<Injected> {
    let has_memory = files.iter().any(|file| file.name == "MEMORY.md" && file.text.is_some());
    let is_told = |file: &&WorkspaceFile| match (file.name.as_str(), reader) {
        ("AGENTS.md" | "TOOLS.md", _) => true,
        (_, Reader::Subagent) => false,
        (name, Reader::AmongOthers) if is_private(Path::new(name)) => false,
        ("memory.md", _) => file.text.is_some() && !has_memory,
        ("MEMORY.md" | "BOOTSTRAP.md", _) => file.text.is_some(),
        _ => true,
    };
    files.iter().filter(is_told).map(|file| inject(file, max)).collect()
}

fn inject(file: &WorkspaceFile, max: usize) -> Injected {
    let whole = file.text.as_deref().map(text::trim_end).unwrap_or_default();
    let raw_chars = text::units(whole);
    let truncated = raw_chars > max;
    let text = if truncated { cut(&file.name, whole, raw_chars, max) } else { whole.to_owned() };
    Injected {
        name: file.name.clone(),
        path: file.path.clone(),
        missing: file.text.is_none(),
        raw_chars,
        text,
        truncated,
    }
}

/// Most of the beginning, and some of the end.
fn cut(name: &str, whole: &str, units: usize, max: usize) -> String {
    let (start, end) = (max * 7 / 10, max / 5);
    let tail = text::tail(whole, end);
    format!(
        "{}\n\n[… {} of {units} characters of {name} left out; read the file for all of it …]\n\n{tail}",
        text::head(whole, start),
        units - start - end
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> WorkspaceFile {
        let text = Some(text.to_owned()).filter(|text| !text.is_empty());
        WorkspaceFile { name: name.to_owned(), path: format!("/ws/{name}"), text }
    }

    fn told(files: &[WorkspaceFile], reader: Reader) -> Vec<String> {
        injected(files, reader, 100).into_iter().filter(|file| !file.missing).map(|file| file.name).collect()
    }

    #[test]
    fn others_are_not_told_what_is_the_owners_own() {
        let mut files: Vec<WorkspaceFile> = FILES.iter().map(|name| file(name, "x")).collect();
        let table = [
            (
                Reader::OwnersAgent,
                vec![
                    "AGENTS.md",
                    "SOUL.md",
                    "TOOLS.md",
                    "IDENTITY.md",
                    "USER.md",
                    "BOOTSTRAP.md",
                    "HEARTBEAT.md",
                    "MEMORY.md",
                ],
            ),
            (
                Reader::AmongOthers,
                vec!["AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "BOOTSTRAP.md", "HEARTBEAT.md"],
            ),
            (Reader::Subagent, vec!["AGENTS.md", "TOOLS.md"]),
        ];
        for (reader, expected) in table {
            assert_eq!(told(&files, reader), expected, "{reader:?}");
        }
        files.retain(|file| file.name != "MEMORY.md");
        assert!(told(&files, Reader::OwnersAgent).contains(&"memory.md".to_owned()));
    }

    #[test]
    fn the_owners_own_files() {
        let table = [
            ("MEMORY.md", true),
            ("Memory.MD", true),
            ("memory.md", true),
            ("USER.md", true),
            ("memory", true),
            ("memory/2026-01-01.md", true),
            ("memory/deep/x.bin", true),
            ("MEMORY/x", true),
            ("SOUL.md", false),
            ("notes/memory/x.md", false),
            ("USER.md/x", false),
            ("memories/x", false),
            ("", false),
        ];
        for (names, expected) in table {
            assert_eq!(is_private(Path::new(names)), expected, "{names}");
        }
    }

    #[test]
    fn a_long_file_is_told_by_its_beginning_and_its_end() {
        let long = format!("begin{}end", "é".repeat(200));
        let told = &injected(&[file("SOUL.md", &long)], Reader::OwnersAgent, 100)[0];
        assert!(told.truncated && told.raw_chars == 208);
        assert!(told.text.starts_with("begin") && told.text.ends_with("end"), "{}", told.text);
        assert!(told.text.contains("118 of 208 characters of SOUL.md left out"), "{}", told.text);
        let missing = &injected(&[file("SOUL.md", "")], Reader::OwnersAgent, 100)[0];
        assert!(missing.missing && missing.text.is_empty());
    }
}
