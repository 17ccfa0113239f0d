//! What a search leaves out: `.git`, and what a `.gitignore` on the way says.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::workspace::{Folder, Kind};

/// The rules of the folders that a walk is in, the outermost first.
#[derive(Default)]
pub(crate) struct Ignored {
    rules: Vec<(PathBuf, Gitignore)>,
}

const MOST_BYTES: u64 = 256 * 1024;

impl Ignored {
    /// Learns the rules of a folder that the walk comes to. `path` leads there from where the walk began.
    pub(crate) fn enter(&mut self, path: &Path, folder: &Folder) {
        self.rules.retain(|(of, _)| path.starts_with(of));
        let mut text = String::new();
        let read =
            folder.file(".gitignore".as_ref()).map(|file| file.take(MOST_BYTES).read_to_string(&mut text));
        if !matches!(read, Ok(Ok(_))) {
            return;
        }
        let mut builder = GitignoreBuilder::new("");
        for line in text.lines() {
            // A line that is no pattern ignores nothing.
            let _ = builder.add_line(None, line);
        }
        if let Ok(rules) = builder.build() {
            self.rules.push((path.to_owned(), rules));
        }
    }

    /// Whether an entry is left out. The innermost rule that says something decides.
    pub(crate) fn leaves_out(&self, path: &Path, kind: Kind) -> bool {
        if path.file_name().is_some_and(|name| name == ".git") {
            return true;
        }
        let is_folder = kind == Kind::Folder;
        let judged = self.rules.iter().rev().filter_map(|(of, rules)| {
            match rules.matched(path.strip_prefix(of).ok()?, is_folder) {
                Match::None => None,
                Match::Ignore(_) => Some(true),
                Match::Whitelist(_) => Some(false),
            }
        });
        judged.into_iter().next().unwrap_or(false)
    }
}
