//! `edit`: a passage of a file is replaced by another one; the rest stays byte for byte.

use std::io;
use std::path::Path;

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::Object;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;

use crate::arguments::Arguments;
use crate::locked_file::LockedFile;
use crate::places::Places;
use crate::workspace::told;

const MOST_BYTES: u64 = 10 * 1024 * 1024;

pub(crate) struct Edit;

#[async_trait]
impl Tool for Edit {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "edit".to_owned(),
            description:
                "Replace a passage of a file of the workspace. oldText has to be there exactly once, \
                with every blank and line end."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, relative to the workspace"},
                    "oldText": {"type": "string", "description": "The passage as it is"},
                    "newText": {"type": "string", "description": "What it is to be"},
                },
                "required": ["path", "oldText", "newText"],
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
        let said = |name: &str, other: &str| arguments.text(name).or_else(|| arguments.text(other));
        let given = |text: &str| text::to_outside(text).into_owned();
        let Some(old) = said("oldText", "old_string").map(given).filter(|old| !old.is_empty()) else {
            return ToolOutput::error("oldText required; to begin a file, use write");
        };
        let Some(new) = said("newText", "new_string").map(given) else {
            return ToolOutput::error("newText required; it may be empty");
        };
        let places = Places::of(context, &[]);
        crate::blocking(move || edit(&places, &path, &old, &new)).await
    }
}

fn edit(places: &Places, path: &str, old: &str, new: &str) -> Result<ToolOutput, String> {
    let (workspace, names) = places.to_change(path)?;
    if places.only_notes_grow() {
        return Err(format!("{path} is only added to here: others are in the conversation"));
    }
    let name = names.file_name().ok_or_else(|| format!("{path} is a folder"))?;
    let failed = |error: io::Error| format!("{}; nothing was changed", told(path, &error));
    let folder = workspace.folder_at(names.parent().unwrap_or(Path::new(""))).map_err(failed)?;
    let file = LockedFile::open_existing(&folder, name).map_err(failed)?;
    let bytes = file.bytes(MOST_BYTES).map_err(failed)?;
    let bytes = bytes.ok_or_else(|| format!("{path} is longer than 10 MB; nothing was changed"))?;
    let whole =
        String::from_utf8(bytes).map_err(|_| format!("{path} is not a text file; nothing was changed"))?;
    let (changed, line) = replaced(&whole, old, new).map_err(|problem| problem.told(path))?;
    file.replace(changed.as_bytes()).map_err(failed)?;
    let details = json!({"path": names.to_string_lossy(), "firstChangedLine": line});
    let done = format!("Successfully replaced text in {path} (line {line}).");
    Ok(ToolOutput { details: Some(details), ..ToolOutput::text(&done) })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    Missing,
    Several(usize),
    Same,
}

impl Problem {
    fn told(self, path: &str) -> String {
        match self {
            Self::Missing => format!(
                "the text is not in {path}; oldText has to match exactly, with every blank and line end. Read the \
                file again; nothing was changed"
            ),
            Self::Several(count) => format!(
                "the text is in {path} {count} times; give more of what is around it, so that there is only one. \
                Nothing was changed"
            ),
            Self::Same => format!("oldText and newText are the same; {path} was not changed"),
        }
    }
}

/// The text with the passage replaced, and the line where that begins.
///
/// A model writes line ends as it likes; in a file with `\r\n` both passages have them, too.
fn replaced(whole: &str, old: &str, new: &str) -> Result<(String, usize), Problem> {
    let (old, new) = (old.trim_start_matches('\u{feff}'), new.trim_start_matches('\u{feff}'));
    let plain = |text: &str| text.replace("\r\n", "\n");
    let (plain_old, plain_new) = (plain(old), plain(new));
    let windows = |text: &str| text.replace('\n', "\r\n");
    let has_windows_ends = whole.contains("\r\n");
    let pairs = [
        has_windows_ends.then(|| (windows(&plain_old), windows(&plain_new))),
        Some((plain_old.clone(), plain_new.clone())),
    ];
    for (old, new) in pairs.into_iter().flatten() {
        let mut found = whole.match_indices(&old);
        let Some((at, _)) = found.next() else { continue };
        let more = found.count();
        if more > 0 {
            return Err(Problem::Several(more + 1));
        }
        if old == new {
            return Err(Problem::Same);
        }
        let line = whole[..at].matches('\n').count() + 1;
        return Ok((format!("{}{new}{}", &whole[..at], &whole[at + old.len()..]), line));
    }
    Err(Problem::Missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_is_replaced_and_the_rest_stays() {
        //  whole  old  new  result
        let table: [(&str, &str, &str, Result<&str, Problem>); 11] = [
            ("a b c", "b", "x", Ok("a x c")),
            ("a b c", "b ", "", Ok("a c")),
            ("a\nb\nc", "a\nb", "x", Ok("x\nc")),
            ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", Ok("x\r\ny\r\nc\r\n")),
            ("a\r\nb\r\n", "b", "c\r\nd", Ok("a\r\nc\r\nd\r\n")),
            ("a\nb\r\nc\n", "a\nb", "x", Ok("x\r\nc\n")),
            ("\u{feff}a b", "a", "x", Ok("\u{feff}x b")),
            ("aa", "a", "b", Err(Problem::Several(2))),
            ("abc", "x", "y", Err(Problem::Missing)),
            ("abc", "b", "b", Err(Problem::Same)),
            ("a  b", "a b", "x", Err(Problem::Missing)),
        ];
        for (whole, old, new, expected) in table {
            let found = replaced(whole, old, new).map(|(changed, _)| changed);
            assert_eq!(found.as_deref().map_err(|problem| *problem), expected, "{whole:?} {old:?}");
        }
        assert_eq!(replaced("a\nb\nc", "c", "d").unwrap().1, 3);
    }
}
