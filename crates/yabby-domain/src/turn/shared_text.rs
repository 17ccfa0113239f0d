//! The words of a message, once: most of the bodies that a message has are the same text, perhaps with a time or a
//! name around it (`sessions.md` §11). In the journal one of them is written out, and the others refer to it:
//! `{"of": "RawBody", "before": "[Tue 12:00] "}`.

use crate::json::{Object, Value};

/// The bodies, those first that others are made of.
const BODIES: [&str; 8] = [
    "RawBody",
    "CommandBody",
    "BodyForCommands",
    "Body",
    "BodyForAgent",
    "BodyStripped",
    "Transcript",
    "ThreadStarterBody",
];

/// A shorter text is as readable where it stands.
const WORTH_SHARING: usize = 64;

/// Writes each body of a message once.
pub(super) fn share(message: &mut Object) {
    let mut written: Vec<(&str, String)> = Vec::new();
    for name in BODIES {
        let Some(text) = message.get(name).and_then(Value::as_str) else { continue };
        let found = written.iter().rev().find_map(|(of, base)| reference(of, base, text));
        match found {
            Some(found) => {
                // What is nearly the same as another body may be referred to, too: it is known in full.
                written.push((name, text.to_owned()));
                message.insert(name.to_owned(), found);
            }
            None if text.len() >= WORTH_SHARING => written.push((name, text.to_owned())),
            None => {}
        }
    }
}

/// Puts the texts back where others refer to them.
pub(super) fn unshare(message: &mut Object) {
    for name in BODIES {
        let Some(Value::Object(found)) = message.get(name) else { continue };
        let part = |field: &str| found.get(field).and_then(Value::as_str).unwrap_or_default();
        let base = message.get(part("of")).and_then(Value::as_str);
        let text = base.map(|base| format!("{}{base}{}", part("before"), part("after")));
        if let Some(text) = text {
            message.insert(name.to_owned(), text.into());
        }
    }
}

fn reference(of: &str, base: &str, text: &str) -> Option<Value> {
    let at = text.find(base)?;
    let (before, after) = (&text[..at], &text[at + base.len()..]);
    let mut found = Object::from_iter([("of".to_owned(), Value::from(of))]);
    for (name, part) in [("before", before), ("after", after)] {
        if !part.is_empty() {
            found.insert(name.to_owned(), part.into());
        }
    }
    Some(Value::Object(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_text_is_written_once_and_comes_back() {
        let long = "the words of a message that is long enough to be worth writing only once ".repeat(4);
        let object = |value: Value| value.as_object().cloned().expect("an object");
        let stamped = format!("[Tue 2026-02-03 12:00 UTC] {long}");
        let other = "x".repeat(400);
        let table = [
            json!({"Body": stamped, "RawBody": long, "CommandBody": long, "BodyForAgent": stamped, "BodyForCommands": long}),
            json!({"Body": format!("a group said\n{long}\nand more"), "RawBody": long, "SenderName": "Ann"}),
            json!({"Body": long, "BodyForAgent": long}),
            json!({"Body": other, "RawBody": long}),
            json!({"Body": "short", "RawBody": "short"}),
            json!({"RawBody": long, "CommandBody": "", "Body": null}),
            json!({}),
        ];
        for message in table {
            let mut shared = object(message.clone());
            share(&mut shared);
            let text = serde_json::to_string(&shared).expect("JSON");
            assert!(text.matches(long.as_str()).count() <= 1, "{text}");
            unshare(&mut shared);
            assert_eq!(Value::Object(shared), message);
        }
    }
}
