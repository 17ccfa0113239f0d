//! `read`: a text file of the workspace, or some lines of it.

use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::Object;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;

use crate::arguments::Arguments;
use crate::workspace::{Workspace, told};

const MAX_LINES: usize = 2000;
const MAX_BYTES: usize = 50 * 1024;

pub(crate) struct Read;

#[async_trait]
impl Tool for Read {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read".to_owned(),
            description:
                "Read a text file of the workspace. At most 2000 lines or 50 KB are shown; use offset \
                and limit for the rest of a long file."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, relative to the workspace"},
                    "offset": {"type": "number", "description": "The line to begin with; the first is 1"},
                    "limit": {"type": "number", "description": "How many lines to read"},
                },
                "required": ["path"],
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let arguments = Arguments(arguments);
        let Some(path) = arguments.path().map(str::to_owned) else {
            return ToolOutput::error("path required");
        };
        let first = arguments.count("offset", 1).unwrap_or(1);
        let limit = arguments.count("limit", 1).unwrap_or(MAX_LINES).min(MAX_LINES);
        let workspace = context.workspace.clone();
        crate::blocking(move || read(&workspace, &path, first, limit)).await
    }
}

fn read(workspace: &Path, path: &str, first: usize, limit: usize) -> Result<ToolOutput, String> {
    let workspace = Workspace::open(workspace)?;
    let file = workspace.file_at(&workspace.resolve(path)?).map_err(|error| told(path, &error))?;
    let excerpt = Excerpt::of(&mut BufReader::new(file), first, limit).map_err(|error| told(path, &error))?;
    match excerpt {
        Excerpt::Binary => Err(format!("{path} is not a text file")),
        Excerpt::PastTheEnd { lines } => {
            Err(format!("{path} has {lines} lines; line {first} is past its end"))
        }
        Excerpt::Text(text) if text.is_empty() => Ok(ToolOutput::text("(the file is empty)")),
        Excerpt::Text(text) => Ok(ToolOutput::text(&text)),
    }
}

#[derive(Debug, PartialEq)]
enum Excerpt {
    Text(String),
    Binary,
    PastTheEnd { lines: usize },
}

impl Excerpt {
    /// So many lines of a text, from the given one on. No more of it is held in memory.
    fn of(source: &mut impl BufRead, first: usize, limit: usize) -> io::Result<Self> {
        for lines in 0..first - 1 {
            if source.skip_until(b'\n')? == 0 {
                return Ok(Self::PastTheEnd { lines });
            }
        }
        let mut bytes = Vec::new();
        source.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.is_empty() && first > 1 {
            return Ok(Self::PastTheEnd { lines: first - 1 });
        }
        if bytes.contains(&0) {
            return Ok(Self::Binary);
        }
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        let ends: Vec<usize> = ends.take_while(|end| *end <= MAX_BYTES).take(limit).collect();
        let goes_on_in_line = bytes.len() > MAX_BYTES && ends.is_empty();
        let shown = match ends.last() {
            Some(end) if bytes.len() > MAX_BYTES || ends.len() == limit => *end,
            _ => whole_characters(&bytes),
        };
        let mut text = text::from_outside(&text::lossy(&bytes[..shown])).into_owned();
        if goes_on_in_line {
            text.push_str(&format!("\n\n[Cut: line {first} is longer than 50 KB.]"));
        } else if shown < bytes.len() {
            let next = first + ends.len();
            text.push_str(&format!("\n[Cut before line {next}; read on with offset {next}.]"));
        }
        Ok(Self::Text(text))
    }
}

/// How many of the bytes fit and are whole characters.
fn whole_characters(bytes: &[u8]) -> usize {
    if bytes.len() <= MAX_BYTES {
        return bytes.len();
    }
    let begins_character = |at: &usize| bytes[*at] & 0b1100_0000 != 0b1000_0000;
    (MAX_BYTES - 3..=MAX_BYTES).rev().find(begins_character).unwrap_or(MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(text: &str, first: usize, limit: usize) -> Excerpt {
        Excerpt::of(&mut text.as_bytes(), first, limit).unwrap()
    }

    #[test]
    fn some_lines_are_shown_and_the_cut_is_told() {
        use Excerpt::{PastTheEnd, Text};
        let cut = |text: &str, next: usize| {
            Text(format!("{text}\n[Cut before line {next}; read on with offset {next}.]"))
        };
        let table = [
            ("a\nb\nc\n", 1, 9, Text("a\nb\nc\n".into())),
            ("a\nb\nc", 2, 2, Text("b\nc".into())),
            ("a\nb\nc\n", 3, 1, Text("c\n".into())),
            ("a\nb\nc\n", 1, 2, cut("a\nb\n", 3)),
            ("a\nb\nc\n", 2, 1, cut("b\n", 3)),
            ("", 1, 9, Text(String::new())),
            ("a\n", 2, 9, PastTheEnd { lines: 1 }),
            ("a\n", 9, 9, PastTheEnd { lines: 1 }),
            ("a\0b", 1, 9, Excerpt::Binary),
        ];
        for (text, first, limit, expected) in table {
            assert_eq!(excerpt(text, first, limit), expected, "{text:?} {first} {limit}");
        }
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        for shift in 0..4 {
            let text = "x".repeat(shift) + &"😀".repeat(MAX_BYTES);
            let Excerpt::Text(shown) = excerpt(&text, 1, 9) else { panic!() };
            assert!(shown.ends_with("is longer than 50 KB.]") && !shown.contains('\u{fffd}'), "{shift}");
        }
        let many = "0123456789\n".repeat(MAX_BYTES);
        let Excerpt::Text(shown) = excerpt(&many, 1, usize::MAX) else { panic!() };
        assert!(
            shown.len() < MAX_BYTES + 100 && shown.contains("offset 4655"),
            "{}",
            &shown[shown.len() - 80..]
        );
    }
}
