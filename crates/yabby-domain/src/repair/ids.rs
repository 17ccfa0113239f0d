//! Tool call ids in the form a provider takes (`transcripts.md` §8).

use std::collections::{HashMap, HashSet};

use sha1::{Digest, Sha1};

use super::call_id;
use crate::message::{Message, Role};
use crate::text;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdForm {
    /// Letters and digits only, at most 40.
    Strict,
    /// Exactly nine letters and digits, as Mistral asks for.
    Strict9,
}

const STRICT_MAX: usize = 40;

/// One id in the given form, not yet shortened to the maximum of [`IdForm::Strict`].
pub fn clean_id(id: &str, form: IdForm) -> String {
    let cleaned: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
    match form {
        IdForm::Strict if id.is_empty() => "defaulttoolid".to_owned(),
        IdForm::Strict if cleaned.is_empty() => "sanitizedtoolid".to_owned(),
        IdForm::Strict => cleaned,
        IdForm::Strict9 if id.is_empty() => "defaultid".to_owned(),
        IdForm::Strict9 if cleaned.is_empty() => hash("sanitized", 9),
        IdForm::Strict9 if cleaned.len() < 9 => hash(&cleaned, 9),
        IdForm::Strict9 => cleaned[..9].to_owned(),
    }
}

/// The first `length` hexadecimal digits of the SHA-1 of `text`.
fn hash(text: &str, length: usize) -> String {
    let digest = Sha1::digest(text::to_outside(text).as_bytes());
    let mut hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.truncate(length);
    hex
}

/// Rewrites the ids of all calls and results; equal ids stay equal and different ones different.
pub fn rewrite_ids(mut messages: Vec<Message>, form: IdForm) -> Vec<Message> {
    let mut ids = IdMap { form, new_ids: HashMap::new(), used: HashSet::new() };
    for message in &mut messages {
        match message.role() {
            Role::Assistant => {
                for block in message.blocks_mut() {
                    if let Some(new) = call_id(block).map(|id| ids.resolve(id)) {
                        block["id"] = new.into();
                    }
                }
            }
            Role::ToolResult => {
                for field in ["toolCallId", "toolUseId"] {
                    let id = message.text_field(field).filter(|id| !id.is_empty());
                    if let Some(new) = id.map(|id| ids.resolve(id)) {
                        message.set(field, new);
                    }
                }
            }
            _ => {}
        }
    }
    messages
}

struct IdMap {
    form: IdForm,
    new_ids: HashMap<String, String>,
    used: HashSet<String>,
}

impl IdMap {
    fn resolve(&mut self, id: &str) -> String {
        if let Some(known) = self.new_ids.get(id) {
            return known.clone();
        }
        let new = unique_id(id, self.form, &self.used);
        self.used.insert(new.clone());
        self.new_ids.insert(id.to_owned(), new.clone());
        new
    }
}

/// `id` in the given form and unlike all that are `used`.
pub fn unique_id(id: &str, form: IdForm, used: &HashSet<String>) -> String {
    let free = |candidate: &String| !used.contains(candidate);
    let mut base = clean_id(id, form);
    match form {
        IdForm::Strict => {
            base.truncate(STRICT_MAX);
            if free(&base) {
                return base;
            }
            let digest = hash(id, 8);
            base.truncate(STRICT_MAX - digest.len());
            let hashed = base + &digest;
            if free(&hashed) {
                return hashed;
            }
            // More candidates than ids in use, so one of them is free.
            let mut counted = (2..used.len() + 3).map(|count| {
                let suffix = format!("x{count}");
                format!("{}{suffix}", &hashed[..hashed.len().min(STRICT_MAX - suffix.len())])
            });
            counted.find(free).unwrap_or(hashed)
        }
        IdForm::Strict9 => {
            if free(&base) {
                return base;
            }
            let mut hashed = (0..used.len() + 1000).map(|count| hash(&format!("{id}:{count}"), 9));
            hashed.find(free).unwrap_or(base)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ids_lose_what_the_provider_does_not_take() {
        let table = [
            ("call_abc-123", "callabc123", "callabc12"),
            ("a", "a", "86f7e437f"),
            ("|||", "sanitizedtoolid", "7b757a23b"),
            ("é-ü", "sanitizedtoolid", "7b757a23b"),
            ("", "defaulttoolid", "defaultid"),
        ];
        for (id, strict, strict9) in table {
            assert_eq!(clean_id(id, IdForm::Strict), strict, "{id}");
            assert_eq!(clean_id(id, IdForm::Strict9), strict9, "{id}");
        }
    }

    #[test]
    fn different_ids_stay_different_and_results_follow_their_calls() {
        let long = "x".repeat(60);
        let ids = ["a_b", "a-b", "ab", &long, &format!("{long}-")];
        let calls: Vec<_> = ids.iter().map(|id| json!({"type": "toolCall", "id": id})).collect();
        let mut messages = vec![Message::from_value(json!({"role": "assistant", "content": calls})).unwrap()];
        messages.extend(
            ids.iter()
                .map(|id| Message::from_value(json!({"role": "toolResult", "toolCallId": id})).unwrap()),
        );
        for form in [IdForm::Strict, IdForm::Strict9] {
            let rewritten = rewrite_ids(messages.clone(), form);
            let new: Vec<&str> = rewritten[0].blocks().iter().filter_map(call_id).collect();
            let answered: Vec<&str> =
                rewritten[1..].iter().filter_map(|m| m.text_field("toolCallId")).collect();
            assert_eq!(new, answered, "{form:?}");
            assert_eq!(new.iter().collect::<HashSet<_>>().len(), ids.len(), "{form:?} {new:?}");
            assert!(
                new.iter().all(|id| id.len() <= STRICT_MAX && id.chars().all(|c| c.is_ascii_alphanumeric()))
            );
            assert!(form == IdForm::Strict || new.iter().all(|id| id.len() == 9));
        }
    }
}
