//! What was said in a transcript (`memory.md` §1.1): a line a message, without secrets.
//!
//! Tool results and everything else are left out, so appending them does not change the hash of a
//! transcript. Lines are counted in this text, not in the file.

use yabby_domain::json::{self, Value};
use yabby_domain::text;

use super::redaction::redacted;

/// What one line of a transcript adds, if users or the assistant say anything in it.
pub fn said(line: &str) -> Option<String> {
    let entry = json::parse(text::non_blank(line)?).ok()?;
    if entry.get("type")?.as_str() != Some("message") {
        return None;
    }
    let message = entry.get("message")?;
    let who = match message.get("role")?.as_str()? {
        "user" => "User",
        "assistant" => "Assistant",
        _ => return None,
    };
    let text = match message.get("content")? {
        Value::String(text) => on_one_line(text),
        Value::Array(blocks) => {
            let of_block = |block: &Value| match block.get("type")?.as_str()? {
                "text" => Some(on_one_line(block.get("text")?.as_str()?)).filter(|text| !text.is_empty()),
                _ => None,
            };
            blocks.iter().filter_map(of_block).collect::<Vec<_>>().join(" ")
        }
        _ => return None,
    };
    (!text.is_empty()).then(|| format!("{who}: {}", redacted(&text)))
}

fn on_one_line(text: &str) -> String {
    text::trim(&text::collapse_spaces(text)).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_said_is_kept() {
        //  line, text
        let table = [
            (
                r#"{"type":"message","message":{"role":"user","content":" a\n\n b\t c "}}"#,
                Some("User: a b c"),
            ),
            (
                r#"{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":" x "},{"type":"thinking","text":"no"},{"type":"text","text":" "},{"type":"text","text":"y"}]}}"#,
                Some("Assistant: x y"),
            ),
            (r#"{"type":"message","message":{"role":"toolResult","content":"no"}}"#, None),
            (r#"{"type":"message","message":{"role":"user","content":" \u00a0 "}}"#, None),
            (r#"{"type":"m\u0065ssage","mess\u0061ge":{"role":"user","content":"x"}}"#, Some("User: x")),
            (r#"{"type":"message","message":[]}"#, None),
            ("[]", None),
            ("not JSON", None),
        ];
        for (line, expected) in table {
            assert_eq!(said(line).as_deref(), expected, "{line}");
        }
    }
}
