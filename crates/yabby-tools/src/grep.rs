//! `grep`: lines of files that match.

use std::io::{BufRead as _, BufReader};
use std::ops::ControlFlow;
use std::path::PathBuf;

use async_trait::async_trait;
use regex::{Regex, RegexBuilder};
use serde_json::json;
use yabby_domain::json::Object;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::{text, untrusted};

use crate::arguments::Arguments;
use crate::find::Wanted;
use crate::places::{Access, Places, on_one_line};
use crate::walk::{MOST_ENTRIES, Searched, each_file};
use crate::workspace::told;

const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 2000;
const MAX_CONTEXT: usize = 20;
/// More of a line is not shown, nor of all lines.
const MOST_OF_LINE: usize = 500;
const MOST_SHOWN: usize = 50 * 1024;
/// A longer line is nobody's text; a longer file is looked at up to here.
const LONGEST_LINE: usize = 1024 * 1024;
const MOST_OF_FILE: u64 = 64 * 1024 * 1024;

pub(crate) struct Grep {
    pub(crate) readable: Vec<PathBuf>,
}

#[async_trait]
impl Tool for Grep {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "grep".to_owned(),
            description:
                "Search the files of the workspace for a regular expression. What .gitignore excludes \
                is left out; links are not followed."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string"},
                    "path": {"type": "string", "description": "A file or folder; the workspace itself if left out"},
                    "glob": {"type": "string", "description": "Which files, e.g. *.md"},
                    "ignoreCase": {"type": "boolean"},
                    "literal": {"type": "boolean", "description": "The pattern is plain text"},
                    "context": {"type": "number", "description": "Lines to show around a match (0)"},
                    "limit": {"type": "number", "description": "How many matches to show (100)"},
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
        let search = match Search::of(arguments) {
            Ok(search) => search,
            Err(problem) => return ToolOutput::error(&problem),
        };
        let path = arguments.path().unwrap_or(".").to_owned();
        let places = Places::of(context, &self.readable);
        crate::blocking(move || grep(&places, &path, search, MOST_ENTRIES)).await
    }
}

/// What is looked for, and what was found.
struct Search {
    pattern: Regex,
    wanted: Option<Wanted>,
    context: usize,
    limit: usize,
    lines: Vec<String>,
    shown: usize,
    matches: usize,
    is_cut: bool,
}

impl Search {
    fn of(arguments: Arguments<'_>) -> Result<Self, String> {
        let pattern =
            arguments.text("pattern").filter(|pattern| !pattern.is_empty()).ok_or("pattern required")?;
        let written = if arguments.flag("literal") { regex::escape(pattern) } else { pattern.to_owned() };
        let compiled = RegexBuilder::new(&written)
            .case_insensitive(arguments.flag("ignoreCase"))
            .size_limit(1024 * 1024)
            .build();
        let glob = arguments.text("glob").and_then(text::non_blank);
        Ok(Self {
            pattern: compiled.map_err(|error| format!("{pattern} is no pattern: {error}"))?,
            wanted: glob.map(Wanted::new).transpose()?,
            context: arguments.count("context", 0).unwrap_or(0).min(MAX_CONTEXT),
            limit: arguments.count("limit", 1).unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT),
            lines: Vec::new(),
            shown: 0,
            matches: 0,
            is_cut: false,
        })
    }

    /// Looks through a file.
    fn look(&mut self, name: &str, file: std::fs::File) {
        let mut reader = BufReader::new(std::io::Read::take(file, MOST_OF_FILE));
        let (mut number, mut shown_to, mut after) = (0, 0, 0);
        let mut before: Vec<String> = Vec::new();
        while let Some(line) = next_line(&mut reader) {
            number += 1;
            let Some(line) = line else { return };
            if self.pattern.is_match(&line) {
                if self.matches == self.limit {
                    self.is_cut = true;
                    return;
                }
                self.matches += 1;
                let first = number - before.len();
                if self.context > 0 && shown_to > 0 && first > shown_to + 1 {
                    self.show("--".to_owned());
                }
                for (at, line) in std::mem::take(&mut before).into_iter().enumerate() {
                    self.show(format!("{name}-{}- {line}", first + at));
                }
                self.show(format!("{name}:{number}: {}", cut(&line)));
                (shown_to, after) = (number, self.context);
            } else if after > 0 {
                after -= 1;
                shown_to = number;
                self.show(format!("{name}-{number}- {}", cut(&line)));
            } else if self.context > 0 {
                before.push(cut(&line));
                if before.len() > self.context {
                    before.remove(0);
                }
            }
            if self.is_cut {
                return;
            }
        }
    }

    fn show(&mut self, line: String) {
        self.shown += line.len();
        self.is_cut |= self.shown > MOST_SHOWN;
        if !self.is_cut {
            self.lines.push(line);
        }
    }
}

fn cut(line: &str) -> String {
    match line.len() > MOST_OF_LINE {
        true => format!("{}… [cut]", &line[..line.floor_char_boundary(MOST_OF_LINE)]),
        false => line.to_owned(),
    }
}

/// The next line; `Some(None)` if the file is no text.
fn next_line(reader: &mut impl std::io::BufRead) -> Option<Option<String>> {
    let mut bytes = Vec::new();
    match std::io::Read::take(&mut *reader, LONGEST_LINE as u64).read_until(b'\n', &mut bytes) {
        Ok(0) | Err(_) => return None,
        Ok(_) => {}
    }
    if bytes.contains(&0) {
        return Some(None);
    }
    if bytes.len() == LONGEST_LINE && bytes.last() != Some(&b'\n') && reader.skip_until(b'\n').is_err() {
        return None;
    }
    while matches!(bytes.last(), Some(b'\n' | b'\r')) {
        bytes.pop();
    }
    Some(Some(text::from_outside(&text::lossy(&bytes)).into_owned()))
}

fn grep(places: &Places, path: &str, mut search: Search, most: usize) -> Result<ToolOutput, String> {
    let found = places.find(path, Access::Read)?;
    let searched = match found.folder.folder_at(&found.names) {
        Ok(folder) => {
            let searched = each_file(&found, &folder, most, &mut |below, entry, folder| {
                if search.wanted.as_ref().is_none_or(|wanted| wanted.takes(below))
                    && let Ok(file) = folder.file(&entry.name)
                {
                    search.look(&on_one_line(&below.to_string_lossy()), file);
                }
                if search.is_cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            searched.map_err(|error| told(path, &error))?
        }
        Err(_) => {
            let name = found.names.file_name().unwrap_or_default().to_string_lossy().into_owned();
            search.look(&on_one_line(&name), found.file(path)?);
            Searched::Whole
        }
    };
    let mut listing = match search.lines.is_empty() {
        true => "No matches found".to_owned(),
        false => untrusted::fence(&format!("files in {path}"), &search.lines.join("\n")),
    };
    if search.is_cut {
        listing.push_str(&format!(
            "\n\n[Cut after {} matches; narrow the search, or raise limit.]",
            search.matches
        ));
    }
    listing.push_str(&searched.note());
    Ok(ToolOutput::text(&listing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use yabby_domain::json::Value;
    use yabby_domain::seam::tool::Company;

    #[test]
    fn a_search_that_gives_up_says_so() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.md", "b.md", "c.md"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let places = Places::of_workspace(folder.path().to_owned(), Company::OwnerAlone);
        //  pattern, entries, whether something is found, whether all of it was looked at
        let table =
            [("a", 3, true, true), ("a", 2, true, false), ("c", 2, false, false), ("c", 3, true, true)];
        for (pattern, most, is_found, is_whole) in table {
            let arguments = Object::from_iter([("pattern".to_owned(), Value::from(pattern))]);
            let search = Search::of(Arguments(&arguments)).unwrap();
            let output = grep(&places, ".", search, most).unwrap();
            let told = output.blocks[0]["text"].as_str().unwrap();
            assert_eq!(told.starts_with("No matches found"), !is_found, "{told}");
            assert_eq!(!told.contains("[Not everything was looked at"), is_whole, "{told}");
        }
    }
}
