//! Taking back what was said (`transcripts.md` §1.2, `memory.md` §16): the words of an entry go, and the entry
//! stays. Its id, its parent and its time are as they were, so everything else in the tree hangs where it hung.

use super::entry::{Entry, EntryKind};
use crate::json::{self, Object, Value};

/// What stands where something was forgotten.
pub const FORGOTTEN: &str = "[forgotten]";

/// Which words of an entry go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'w> {
    All,
    /// Those texts in it that have these words; letters of either case are alike.
    With(&'w str),
}

/// The line of an entry without its words, and the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgotten {
    pub line: String,
    pub words: Vec<String>,
}

/// The fields of a message, or of an entry that is one itself, that hold words.
const SPOKEN: [&str; 4] = ["content", "details", "errorMessage", "unreadableArguments"];

/// Names of fields that hold no words but say what others are.
const NAMES: [&str; 6] = ["type", "id", "name", "mimeType", "toolCallId", "toolName"];

/// What providers sign words with. Without the words they are worth nothing, and may hold them.
const SIGNATURES: [&str; 4] = ["thinkingSignature", "textSignature", "thoughtSignature", "signature"];

/// Takes the words out of an entry; `None` if there is nothing to take.
pub fn forget(entry: &Entry, which: Which<'_>) -> Option<Forgotten> {
    let mut object = entry.object();
    let mut words = Vec::new();
    let spoken = match entry.kind() {
        EntryKind::Message => object.get_mut("message")?.as_object_mut()?,
        EntryKind::CustomMessage => &mut object,
        _ => return None,
    };
    for field in SPOKEN {
        if let Some(value) = spoken.get_mut(field) {
            silence(value, which, false, &mut words);
        }
    }
    (!words.is_empty()).then(|| Forgotten { line: json::stringify_object(&object), words })
}

/// Whether some words are in others; letters of either case are alike.
pub fn has_words(text: &str, words: &str) -> bool {
    text.to_lowercase().contains(&words.to_lowercase())
}

/// Takes the words out of a value. `is_own` within the arguments of a tool, where names mean nothing to us.
fn silence(value: &mut Value, which: Which<'_>, is_own: bool, words: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let is_meant = match which {
                Which::All => !text.is_empty(),
                Which::With(words) => has_words(text, words),
            };
            if is_meant && text != FORGOTTEN {
                words.push(std::mem::replace(text, FORGOTTEN.to_owned()));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| silence(item, which, is_own, words)),
        Value::Object(fields) => silence_fields(fields, which, is_own, words),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn silence_fields(fields: &mut Object, which: Which<'_>, is_own: bool, words: &mut Vec<String>) {
    let is_image = !is_own && fields.get("type").is_some_and(|kind| kind == "image");
    if is_image {
        if which == Which::All {
            // A picture says something, too, but nothing that could be looked for.
            *fields = Object::from_iter([
                ("type".to_owned(), Value::from("text")),
                ("text".to_owned(), FORGOTTEN.into()),
            ]);
        }
        return;
    }
    let before = words.len();
    for (name, value) in fields.iter_mut() {
        if is_own || !(NAMES.contains(&name.as_str()) || SIGNATURES.contains(&name.as_str())) {
            silence(value, which, is_own || name == "arguments", words);
        }
    }
    if !is_own && words.len() > before {
        SIGNATURES.iter().for_each(|name| drop(fields.shift_remove(*name)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(message: Value) -> Entry {
        let line =
            json!({"type": "message", "id": "a", "parentId": "p", "timestamp": "t", "message": message});
        Entry::parse(&line.to_string()).expect("an entry")
    }

    fn after(message: Value, which: Which<'_>) -> Option<(Value, Vec<String>)> {
        let Forgotten { line, words } = forget(&entry(message), which)?;
        let value: Value = serde_json::from_str(&line).expect("JSON");
        for (field, expected) in [("id", "a"), ("parentId", "p"), ("timestamp", "t")] {
            assert_eq!(value[field], expected);
        }
        Some((value["message"].clone(), words))
    }

    #[test]
    fn words_go_and_the_entry_stays() {
        let gone = after(json!({"role": "user", "content": "The PIN is 4711"}), Which::All);
        assert_eq!(
            gone,
            Some((json!({"role": "user", "content": FORGOTTEN}), vec!["The PIN is 4711".to_owned()]))
        );
        let said = json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "a pin", "thinkingSignature": "x"},
            {"type": "text", "text": "Noted."},
            {"type": "toolCall", "id": "c", "name": "write", "arguments": {"name": "PIN 4711", "n": 1}},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        ]});
        let (left, words) = after(said.clone(), Which::With("Pin")).expect("words");
        assert_eq!(
            left["content"],
            json!([
                {"type": "thinking", "thinking": FORGOTTEN},
                {"type": "text", "text": "Noted."},
                {"type": "toolCall", "id": "c", "name": "write", "arguments": {"name": FORGOTTEN, "n": 1}},
                {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            ])
        );
        assert_eq!(words, ["a pin", "PIN 4711"]);
        let (left, _) = after(said, Which::All).expect("words");
        assert_eq!(left["content"][3], json!({"type": "text", "text": FORGOTTEN}));
        assert_eq!(left["content"][1]["text"], FORGOTTEN);
        // What is forgotten stays forgotten, and nothing else is touched.
        assert_eq!(after(json!({"role": "user", "content": FORGOTTEN}), Which::All), None);
        assert_eq!(after(json!({"role": "user", "content": "x"}), Which::With("y")), None);
        let header = Entry::parse(r#"{"type":"session","id":"s","cwd":"/x"}"#).expect("an entry");
        assert_eq!(forget(&header, Which::All), None);
    }
}
