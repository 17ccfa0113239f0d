//! `find`: files by their names.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use ignore::overrides::OverrideBuilder;
use serde_json::json;
use yabby_domain::json::Object;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;

use crate::arguments::Arguments;
use crate::places::{Access, Places, on_one_line};
use crate::walk::{MOST_ENTRIES, each_file};
use crate::workspace::told;

const DEFAULT_LIMIT: usize = 1000;
const MAX_LIMIT: usize = 5000;

pub(crate) struct Find {
    pub(crate) readable: Vec<PathBuf>,
}

#[async_trait]
impl Tool for Find {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "find".to_owned(),
            description: "Find files of the workspace by a glob, e.g. *.md or src/**/*.rs. What .gitignore \
                excludes is left out; links are not followed."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "The glob"},
                    "path": {"type": "string", "description": "The folder; the workspace itself if left out"},
                    "limit": {"type": "number", "description": "How many files to show (1000)"},
                },
                "required": ["pattern"],
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let arguments = Arguments(arguments);
        let Some(pattern) = arguments.text("pattern").and_then(text::non_blank).map(str::to_owned) else {
            return ToolOutput::error("pattern required");
        };
        let path = arguments.path().unwrap_or(".").to_owned();
        let limit = arguments.count("limit", 1).unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
        let places = Places::of(context, &self.readable);
        crate::blocking(move || find(&places, &path, &pattern, limit, MOST_ENTRIES)).await
    }
}

fn find(places: &Places, path: &str, pattern: &str, limit: usize, most: usize) -> Result<ToolOutput, String> {
    let wanted = Wanted::new(pattern)?;
    let found = places.find(path, Access::Read)?;
    let folder = found.folder.folder_at(&found.names).map_err(|error| told(path, &error))?;
    let mut lines = Vec::new();
    let searched = each_file(&found, &folder, most, &mut |below, _, _| {
        if wanted.takes(below) {
            lines.push(on_one_line(&below.to_string_lossy()));
        }
        // One more than is shown tells whether anything is left out.
        if lines.len() > limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let searched = searched.map_err(|error| told(path, &error))?;
    let is_cut = lines.len() > limit;
    lines.truncate(limit);
    let mut listing = match lines.is_empty() {
        true => "No files found matching pattern".to_owned(),
        false => lines.join("\n"),
    };
    if is_cut {
        listing.push_str(&format!("\n\n[Cut after {limit} files; narrow the pattern, or raise limit.]"));
    }
    listing.push_str(&searched.note());
    Ok(ToolOutput::text(&listing))
}

/// A glob: one without `/` is about names, wherever they are.
pub(crate) struct Wanted(ignore::overrides::Override);

impl Wanted {
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let failed = |error: ignore::Error| format!("{pattern} is no glob: {error}");
        // `!x` would leave out instead of take.
        let plain = text::trim(pattern).trim_start_matches('!').trim_start_matches("./");
        let mut builder = OverrideBuilder::new("");
        builder.add(plain).map_err(failed)?;
        builder.build().map(Self).map_err(failed)
    }

    pub(crate) fn takes(&self, path: &Path) -> bool {
        self.0.matched(path, false).is_whitelist()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yabby_domain::seam::tool::Company;

    #[test]
    fn a_search_that_gives_up_says_so() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.md", "b.rs", "c.md"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let places = Places::of_workspace(folder.path().to_owned(), Company::OwnerAlone);
        let note = "\n\n[Not everything was looked at: more than 2 entries are there. Name a folder in it.]";
        //  pattern, entries, what is told
        let table = [
            ("*.md", 3, "a.md\nc.md".to_owned()),
            ("*.md", 2, format!("a.md{note}")),
            ("*.txt", 2, format!("No files found matching pattern{note}")),
        ];
        for (pattern, most, told) in table {
            let output = find(&places, ".", pattern, 10, most).unwrap();
            assert_eq!(output.blocks, ToolOutput::text(&told).blocks, "{pattern} {most}");
        }
    }

    #[test]
    fn globs_are_about_names_or_paths() {
        let table = [
            ("*.rs", "a.rs", true),
            ("*.rs", "x/y/a.rs", true),
            ("src/**/*.rs", "src/a/b.rs", true),
            ("src/**/*.rs", "src/b.rs", true),
            ("src/*.rs", "src/a/b.rs", false),
            ("./src/*.rs", "src/b.rs", true),
            ("**/*.md", "a.md", true),
            ("!*.rs", "a.rs", true),
            ("*.{rs,md}", "x/a.md", true),
            ("a?", "ab", true),
            ("*.rs", "a.rst", false),
        ];
        for (pattern, path, expected) in table {
            assert_eq!(Wanted::new(pattern).unwrap().takes(Path::new(path)), expected, "{pattern} {path}");
        }
        assert!(Wanted::new("a[").is_err());
    }
}
