//! Per-provider sanitising of the history (`transcripts.md` §8).
//!
//! What each provider is known to reject is cleaned as the reference cleans it. What is still missing
//! for a request that every provider accepts is the business of [`crate::provider_rules`], which runs
//! last, on the whole request.

pub mod images;
pub mod policy;
pub mod signatures;

use jiff::Timestamp;

use crate::json::{Object, Value};
use crate::message::{Content, Message, Role};
use crate::repair::{ids, inputs, pairing, turns};
use crate::text;
use crate::transcript::entry::{Entry, EntryKind};
use crate::transcript::seed;

use policy::{ModelTarget, SanitizeMode, TranscriptPolicy};

/// The custom entry that remembers the model a history was last sanitised for.
pub const MODEL_SNAPSHOT: &str = "model-snapshot";
/// The custom entry that remembers that a bootstrap turn was needed.
pub const BOOTSTRAP_MARKER: &str = "google-turn-ordering-bootstrap";
/// What the user says in a bootstrap turn.
pub const BOOTSTRAP_TEXT: &str = "(session bootstrap)";

/// A custom entry to append to the transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomEntry {
    pub custom_type: &'static str,
    pub data: Object,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Sanitized {
    pub messages: Vec<Message>,
    pub to_append: Vec<CustomEntry>,
    /// Tool results were paired anew, which moves results everywhere in the history (see [`pairing`]).
    pub pairs_results: bool,
}

/// Where a part of a history stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is the whole history.
    Whole,
    /// It follows a part of the same history; `pairs_results` if tool results were paired anew there.
    Following { pairs_results: bool },
}

/// Cleans a history for `target`. `entries` is the transcript it came from, where snapshots of earlier
/// runs are found.
pub fn sanitize(
    messages: Vec<Message>,
    target: &ModelTarget<'_>,
    entries: &[Entry],
    now: Timestamp,
) -> Sanitized {
    sanitize_part(messages, target, entries, now, Standing::Whole)
}

/// The same for a part of a history that begins with a user message.
pub fn sanitize_part(
    messages: Vec<Message>,
    target: &ModelTarget<'_>,
    entries: &[Entry],
    now: Timestamp,
    standing: Standing,
) -> Sanitized {
    let policy = TranscriptPolicy::of(target);
    let mut messages = clean_messages(messages, &policy);
    if policy.antigravity_thinking {
        messages = signatures::drop_unsigned_thinking(messages);
    }
    messages = inputs::drop_calls_without_input(messages).messages;
    let mut pairs_results = standing == Standing::Following { pairs_results: true };
    if policy.pair_results {
        let paired = pairing::pair_results(messages, now, pairs_results);
        pairs_results |= paired.changed;
        messages = paired.messages;
    }

    let mut to_append = Vec::new();
    let known = last_snapshot(entries).filter(|_| target.is_known());
    let model_changed = is_other_model(known.as_ref(), target);
    if model_changed && target.is_openai_responses() {
        messages = signatures::drop_trailing_reasoning(messages);
    }
    if target.is_known() && (known.is_none() || model_changed) {
        to_append.push(CustomEntry { custom_type: MODEL_SNAPSHOT, data: snapshot(target, now) });
    }
    if policy.google_turn_order && messages.first().is_some_and(|first| first.role() == Role::Assistant) {
        messages.insert(0, bootstrap_turn(now));
        if !entries.iter().any(|entry| custom_data(entry, BOOTSTRAP_MARKER).is_some()) {
            let data = Object::from_iter([("timestamp".to_owned(), now.as_millisecond().into())]);
            to_append.push(CustomEntry { custom_type: BOOTSTRAP_MARKER, data });
        }
    }
    Sanitized { messages, to_append, pairs_results }
}

/// Whether a history was last sanitised for another model, so that this time it is not only cleaned part by part.
pub fn has_other_snapshot(entries: &[Entry], target: &ModelTarget<'_>) -> bool {
    is_other_model(last_snapshot(entries).filter(|_| target.is_known()).as_ref(), target)
}

fn is_other_model(known: Option<&Object>, target: &ModelTarget<'_>) -> bool {
    known.is_some_and(|known| !is_snapshot_of(known, target))
}

/// Joins the turns of one side where the provider wants them to alternate.
pub fn join_turns(mut messages: Vec<Message>, policy: &TranscriptPolicy) -> Vec<Message> {
    if policy.join_assistant_turns {
        messages = turns::join_assistant_turns(messages);
    }
    if policy.join_user_turns {
        messages = turns::join_user_turns(messages);
    }
    messages
}

fn clean_messages(mut messages: Vec<Message>, policy: &TranscriptPolicy) -> Vec<Message> {
    let is_full = policy.mode == SanitizeMode::Full;
    if let Some(form) = policy.id_form.filter(|_| is_full && policy.rewrite_ids) {
        messages = ids::rewrite_ids(messages, form);
    }
    messages.into_iter().filter_map(|message| clean_message(message, policy)).collect()
}

fn clean_message(mut message: Message, policy: &TranscriptPolicy) -> Option<Message> {
    let mut blocks = match (message.role(), message.content()) {
        (Role::User | Role::Assistant | Role::ToolResult, Content::Blocks(_)) => message.take_blocks(),
        // A result has a list of blocks or nothing.
        (Role::ToolResult, _) => Vec::new(),
        _ => return Some(message),
    };
    // What a failed run left is kept as evidence.
    let is_answer = message.role() == Role::Assistant && message.stop_reason() != Some("error");
    let clean_text = is_answer && policy.mode == SanitizeMode::Full;
    if clean_text {
        if !policy.keep_signatures {
            signatures::strip_thought_signatures(&mut blocks, policy.thought_signatures);
        }
        blocks.retain(|block| !is_blank_text(block));
    }
    images::clean_images(&mut blocks);
    if clean_text && blocks.is_empty() {
        return None;
    }
    message.set("content", blocks);
    Some(message)
}

fn is_blank_text(block: &Value) -> bool {
    let is_text = block.get("type").and_then(Value::as_str) == Some("text");
    is_text && block.get("text").and_then(Value::as_str).is_some_and(|text| text::non_blank(text).is_none())
}

fn bootstrap_turn(now: Timestamp) -> Message {
    let turn =
        serde_json::json!({"role": "user", "content": BOOTSTRAP_TEXT, "timestamp": now.as_millisecond()});
    Message::from_value(turn).unwrap_or_default()
}

/// The data of a custom entry of the given type.
fn custom_data(entry: &Entry, custom_type: &str) -> Option<Value> {
    let is_custom = entry.kind() == EntryKind::Custom;
    let (found, data) = is_custom.then(|| seed::custom_of(&entry.object())).flatten()?;
    (found == custom_type).then(|| data.unwrap_or_default())
}

fn last_snapshot(entries: &[Entry]) -> Option<Object> {
    entries.iter().rev().find_map(|entry| match custom_data(entry, MODEL_SNAPSHOT)? {
        Value::Object(data) => Some(data),
        _ => None,
    })
}

fn is_snapshot_of(data: &Object, target: &ModelTarget<'_>) -> bool {
    let fields = [("provider", target.provider), ("modelApi", target.api), ("modelId", target.model)];
    fields.into_iter().all(|(field, now)| match data.get(field) {
        None | Some(Value::Null) => now.unwrap_or_default().is_empty(),
        Some(then) => then.as_str() == Some(now.unwrap_or_default()),
    })
}

fn snapshot(target: &ModelTarget<'_>, now: Timestamp) -> Object {
    let fields = [("provider", target.provider), ("modelApi", target.api), ("modelId", target.model)];
    let mut data = Object::from_iter([("timestamp".to_owned(), Value::from(now.as_millisecond()))]);
    data.extend(
        fields.into_iter().filter_map(|(field, value)| Some((field.to_owned(), Value::from(value?)))),
    );
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const GEMINI: ModelTarget<'_> = ModelTarget {
        api: Some("google-generative-ai"),
        provider: Some("google"),
        model: Some("gemini-3-pro"),
    };
    const OPENAI: ModelTarget<'_> =
        ModelTarget { api: Some("openai-responses"), provider: Some("openai"), model: Some("gpt-5.2") };

    fn messages(list: Value) -> Vec<Message> {
        list.as_array().unwrap().iter().cloned().filter_map(Message::from_value).collect()
    }

    fn custom(custom_type: &str, data: Value) -> Entry {
        let entry = json!({"type": "custom", "customType": custom_type, "data": data});
        Entry::from_object(entry.as_object().unwrap().clone())
    }

    #[test]
    fn a_leading_answer_gets_a_turn_in_front_for_google_alone() {
        let leading =
            || messages(json!([{"role": "assistant", "content": [{"type": "text", "text": "hi"}]}]));
        let sanitized = sanitize(leading(), &GEMINI, &[], Timestamp::UNIX_EPOCH);
        assert_eq!(sanitized.messages[0].get("content"), Some(&json!("(session bootstrap)")));
        let types: Vec<_> = sanitized.to_append.iter().map(|entry| entry.custom_type).collect();
        assert_eq!(types, [MODEL_SNAPSHOT, BOOTSTRAP_MARKER]);
        let marked = [custom(BOOTSTRAP_MARKER, json!({"timestamp": 1}))];
        assert_eq!(sanitize(leading(), &GEMINI, &marked, Timestamp::UNIX_EPOCH).to_append.len(), 1);
        assert_eq!(sanitize(leading(), &OPENAI, &[], Timestamp::UNIX_EPOCH).messages, leading());
    }

    #[test]
    fn a_snapshot_is_written_when_the_model_changes() {
        let data = json!({"timestamp": 1, "provider": "openai", "modelApi": "openai-responses", "modelId": "gpt-5.2"});
        let same = [custom(MODEL_SNAPSHOT, data)];
        assert_eq!(sanitize(Vec::new(), &OPENAI, &same, Timestamp::UNIX_EPOCH).to_append, []);
        assert_eq!(sanitize(Vec::new(), &GEMINI, &same, Timestamp::UNIX_EPOCH).to_append.len(), 1);
        assert_eq!(sanitize(Vec::new(), &ModelTarget::default(), &[], Timestamp::UNIX_EPOCH).to_append, []);
    }

    #[test]
    fn blank_answers_go_in_full_mode_unless_they_failed() {
        let list = json!([
            {"role": "assistant", "content": [{"type": "text", "text": "  "}]},
            {"role": "assistant", "content": [{"type": "text", "text": "  "}], "stopReason": "error"},
            {"role": "assistant", "content": "  "},
        ]);
        let left = clean_messages(messages(list.clone()), &TranscriptPolicy::of(&GEMINI));
        assert_eq!(left, messages(list.clone())[1..]);
        assert_eq!(clean_messages(messages(list.clone()), &TranscriptPolicy::of(&OPENAI)), messages(list));
    }
}
