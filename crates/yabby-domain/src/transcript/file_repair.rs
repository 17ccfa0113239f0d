//! Mending a file before a run: lines that are not JSON are taken out (`transcripts.md` §7.3).

use std::fmt;

use crate::json::{self, Value};
use crate::text;

/// What a repair would do to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Nothing is wrong, or nothing can be done.
    Leave { dropped: usize, reason: Option<Left> },
    /// Keep the original under another name and write this instead.
    Replace { dropped: usize, text: String },
}

/// Why a file that needs it is not repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    Missing,
    Empty,
    InvalidHeader,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "missing session file",
            Self::Empty => "empty session file",
            Self::InvalidHeader => "invalid session header",
        })
    }
}

/// Decides over the text of a file; `None` is a file that does not exist.
pub fn repair(file: Option<&str>) -> Repair {
    let Some(file) = file else {
        return Repair::Leave { dropped: 0, reason: Some(Left::Missing) };
    };
    let mut dropped = 0;
    let mut good = Vec::new();
    for line in file.split('\n').filter(|line| !text::trim(line).is_empty()) {
        match clean(line) {
            Some(line) => good.push(line),
            None => dropped += 1,
        }
    }
    let leave = |reason| Repair::Leave { dropped, reason };
    let Some(first) = good.first() else { return leave(Some(Left::Empty)) };
    if !is_header(first) {
        return leave(Some(Left::InvalidHeader));
    }
    if dropped == 0 {
        return leave(None);
    }
    Repair::Replace { dropped, text: good.join("\n") + "\n" }
}

/// The line as JavaScript would write it; one that is JSON but too deep for us stays as it is.
fn clean(line: &str) -> Option<String> {
    match json::parse(line) {
        Ok(value) => Some(json::stringify(&value)),
        Err(_) => {
            let is_json = serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok();
            is_json.then(|| line.trim_end_matches('\r').to_owned())
        }
    }
}

fn is_header(line: &str) -> bool {
    let header = json::parse(line).unwrap_or_default();
    let field = |name: &str| header.get(name).and_then(Value::as_str);
    field("type") == Some("session") && field("id").is_some_and(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_lines_are_dropped_behind_a_good_header() {
        const HEADER: &str = r#"{"type":"session","id":"s"}"#;
        let leave = |dropped, reason| Repair::Leave { dropped, reason };
        let table = [
            (None, leave(0, Some(Left::Missing))),
            (Some(String::new()), leave(0, Some(Left::Empty))),
            (Some("{\n{".to_owned()), leave(2, Some(Left::Empty))),
            (Some("null".to_owned()), leave(0, Some(Left::InvalidHeader))),
            (Some(r#"{"type":"session","id":""}"#.to_owned()), leave(0, Some(Left::InvalidHeader))),
            (Some(format!("{HEADER}\r\n\r\n{{\"a\":1.0}}")), leave(0, None)),
            (
                Some(format!("{HEADER}\r\n{{\"a\":1.0}}\n{{\"b\"")),
                Repair::Replace { dropped: 1, text: format!("{HEADER}\n{{\"a\":1}}\n") },
            ),
        ];
        for (file, expected) in table {
            assert_eq!(repair(file.as_deref()), expected, "{file:?}");
        }
    }
}
