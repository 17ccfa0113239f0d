//! `read`: a text file of the workspace, some lines of it, or an image.

use std::io::{self, BufRead, BufReader, Read as _};
use std::path::PathBuf;

use async_trait::async_trait;
use base64::Engine as _;
use serde_json::json;
use yabby_domain::json::Object;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;

use crate::arguments::Arguments;
use crate::places::{Access, Places};
use crate::workspace::told;

const MAX_LINES: usize = 2000;
const MAX_BYTES: usize = 50 * 1024;

/// An image that is larger is no picture to look at.
const MOST_IMAGE_BYTES: u64 = 5 * 1024 * 1024;

pub(crate) struct Read {
    pub(crate) readable: Vec<PathBuf>,
}

#[async_trait]
impl Tool for Read {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read".to_owned(),
            description:
                "Read a file of the workspace: a text, or an image (png, jpg, gif, webp). At most 2000 lines or \
                50 KB are shown; use offset and limit for the rest of a long file."
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
        let places = Places::of(context, &self.readable);
        let sees_images = context.sees_images;
        crate::blocking(move || read(&places, &path, first, limit, sees_images)).await
    }
}

fn read(
    places: &Places,
    path: &str,
    first: usize,
    limit: usize,
    sees_images: bool,
) -> Result<ToolOutput, String> {
    let found = places.find(path, Access::Read)?;
    let mut reader = BufReader::new(found.file(path)?);
    let begins = reader.fill_buf().map_err(|error| told(path, &error))?;
    if let Some(kind) = image_kind(begins) {
        return image(path, kind, reader, sees_images);
    }
    match Excerpt::of(&mut reader, first, limit).map_err(|error| told(path, &error))? {
        Excerpt::Binary => Err(format!("{path} is not a text file")),
        Excerpt::PastTheEnd { lines } => {
            Err(format!("{path} has {lines} lines; line {first} is past its end"))
        }
        Excerpt::Text { text, .. } if text.is_empty() => Ok(ToolOutput::text("(the file is empty)")),
        Excerpt::Text { text, note } => Ok(ToolOutput::text(&format!("{}{note}", found.fenced(&text)))),
    }
}

/// What kind of image begins so. Its name does not tell.
fn image_kind(begins: &[u8]) -> Option<&'static str> {
    match begins {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

fn image(path: &str, kind: &str, reader: impl io::Read, sees_images: bool) -> Result<ToolOutput, String> {
    let mut bytes = Vec::new();
    reader.take(MOST_IMAGE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| told(path, &error))?;
    if bytes.len() as u64 > MOST_IMAGE_BYTES {
        return Err(format!("{path} is an image ({kind}) of more than 5 MB; make it smaller first"));
    }
    let size = bytes.len();
    if !sees_images {
        return Ok(ToolOutput::text(&format!(
            "{path} is an image ({kind}, {size} bytes), and this model cannot look at images."
        )));
    }
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    let said = ToolOutput::text(&format!("Read image file [{kind}]"));
    let picture = json!({"type": "image", "data": data, "mimeType": kind});
    Ok(ToolOutput { blocks: [said.blocks, vec![picture]].concat(), ..ToolOutput::default() })
}

#[derive(Debug, PartialEq)]
enum Excerpt {
    /// Some of it, and what is to be said about the rest.
    Text {
        text: String,
        note: String,
    },
    Binary,
    PastTheEnd {
        lines: usize,
    },
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
        let text = text::from_outside(&text::lossy(&bytes[..shown])).into_owned();
        let next = first + ends.len();
        let note = match goes_on_in_line {
            true => format!("\n\n[Cut: line {first} is longer than 50 KB.]"),
            false if shown < bytes.len() => {
                format!("\n[Cut before line {next}; read on with offset {next}.]")
            }
            false => String::new(),
        };
        Ok(Self::Text { text, note })
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
        use Excerpt::PastTheEnd;
        let whole = |text: &str| Excerpt::Text { text: text.to_owned(), note: String::new() };
        let cut = |text: &str, next: usize| Excerpt::Text {
            text: text.to_owned(),
            note: format!("\n[Cut before line {next}; read on with offset {next}.]"),
        };
        let table = [
            ("a\nb\nc\n", 1, 9, whole("a\nb\nc\n")),
            ("a\nb\nc", 2, 2, whole("b\nc")),
            ("a\nb\nc\n", 3, 1, whole("c\n")),
            ("a\nb\nc\n", 1, 2, cut("a\nb\n", 3)),
            ("a\nb\nc\n", 2, 1, cut("b\n", 3)),
            ("", 1, 9, whole("")),
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
            let Excerpt::Text { text, note } = excerpt(&text, 1, 9) else { panic!() };
            assert!(note.ends_with("is longer than 50 KB.]") && !text.contains('\u{fffd}'), "{shift}");
        }
        let many = "0123456789\n".repeat(MAX_BYTES);
        let Excerpt::Text { text, note } = excerpt(&many, 1, usize::MAX) else { panic!() };
        assert!(text.len() <= MAX_BYTES && note.contains("offset 4655"), "{note}");
    }
}
