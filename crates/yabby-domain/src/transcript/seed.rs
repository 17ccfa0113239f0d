//! Older and foreign shapes of transcript lines (`transcripts.md` §1.1, §1.2; the seed documents).
//!
//! Other programs of the family wrote plainer lines: usage beside the message instead of in it, a
//! model without its provider, tool calls as a chat API spells them. They stay on disk as they are;
//! these views give them the meaning that they had.

use serde::Deserialize;

use crate::json::{self, Object, Value};
use crate::message::{Message, Role, text_block};

/// The message on a line; usage that stands beside it is put where it belongs.
pub fn message_on(line: &str) -> Option<Message> {
    let Said { message, usage } = Said::on(line);
    let mut message = Message::from_value(message?)?;
    if message.get("usage").is_none()
        && let Some(Value::Object(usage)) = usage
    {
        message.set("usage", Value::Object(whole_usage(&usage)));
    }
    Some(message)
}

/// What of a line makes a message. The rest of it is skipped, which is much quicker than to build it.
#[derive(Default, Deserialize)]
struct Said {
    message: Option<Value>,
    usage: Option<Value>,
}

impl Said {
    fn on(line: &str) -> Self {
        serde_json::from_str(&json::readable(line)).unwrap_or_else(|_| {
            // A field that stands there twice, say, or JSON that only JavaScript reads.
            let Ok(Value::Object(mut line)) = json::parse(line) else { return Self::default() };
            Self { message: line.swap_remove("message"), usage: line.swap_remove("usage") }
        })
    }
}

fn whole_usage(usage: &Object) -> Object {
    let count = |names: [&str; 2]| {
        names.iter().find_map(|name| usage.get(*name).and_then(Value::as_f64)).unwrap_or(0.0)
    };
    let input = count(["input", "inputTokens"]);
    let output = count(["output", "outputTokens"]);
    let cache_read = count(["cacheRead", "cacheReadTokens"]);
    let cache_write = count(["cacheWrite", "cacheWriteTokens"]);
    let total = match count(["totalTokens", "total"]) {
        0.0 => input + output + cache_read + cache_write,
        total => total,
    };
    let mut whole = Object::new();
    let counts = [
        ("input", input),
        ("output", output),
        ("cacheRead", cache_read),
        ("cacheWrite", cache_write),
        ("totalTokens", total),
    ];
    for (name, value) in counts {
        whole.insert(name.into(), json::number(value));
    }
    if let Some(cost) = usage.get("cost") {
        whole.insert("cost".into(), cost.clone());
    }
    whole
}

/// A message in a chat API's spelling as a model of ours reads it: `tool_calls` become blocks, and a
/// `tool` message that names its call becomes a tool result.
pub fn in_our_spelling(message: Message) -> Message {
    match message.role() {
        Role::Assistant => with_call_blocks(message),
        Role::Other => tool_result(&message).unwrap_or(message),
        _ => message,
    }
}

fn with_call_blocks(mut message: Message) -> Message {
    let Some(Value::Array(calls)) = message.get("tool_calls") else { return message };
    let calls: Vec<Value> = calls.iter().filter_map(call_block).collect();
    if calls.is_empty() {
        return message;
    }
    let mut blocks = match message.get("content") {
        Some(Value::Array(blocks)) => blocks.clone(),
        Some(Value::String(text)) if !text.is_empty() => vec![text_block(text)],
        _ => Vec::new(),
    };
    blocks.extend(calls);
    message.set("content", blocks);
    message.as_object_mut().shift_remove("tool_calls");
    message
}

fn call_block(call: &Value) -> Option<Value> {
    let function = call.get("function").unwrap_or(call);
    let name = function.get("name")?.as_str()?;
    let arguments = match function.get("arguments") {
        // A chat API sends the arguments as JSON text.
        Some(Value::String(text)) => json::parse(text).unwrap_or_else(|_| Value::from(text.as_str())),
        Some(arguments) => arguments.clone(),
        None => Value::Object(Object::new()),
    };
    let mut block = Object::new();
    block.insert("type".into(), "toolCall".into());
    if let Some(id) = call.get("id") {
        block.insert("id".into(), id.clone());
    }
    block.insert("name".into(), name.into());
    block.insert("arguments".into(), arguments);
    Some(Value::Object(block))
}

fn tool_result(message: &Message) -> Option<Message> {
    if message.text_field("role") != Some("tool") {
        return None;
    }
    let field = |names: [&str; 2]| names.iter().find_map(|name| message.text_field(name));
    let call_id = field(["toolCallId", "tool_call_id"])?;
    let mut result = Message::default();
    result.set("role", "toolResult");
    result.set("toolCallId", call_id);
    result.set(
        "toolName",
        field(["toolName", "tool_name"]).or(message.text_field("name")).unwrap_or("unknown"),
    );
    result.set(
        "content",
        match message.get("content") {
            Some(Value::Array(blocks)) => Value::Array(blocks.clone()),
            Some(Value::String(text)) => Value::Array(vec![text_block(text)]),
            _ => Value::Array(Vec::new()),
        },
    );
    result.set("isError", message.get("isError").is_some_and(json::truthy));
    if let Some(timestamp) = message.get("timestamp") {
        result.set("timestamp", timestamp.clone());
    }
    Some(result)
}

/// Provider and model of a `model_change`; an older line names the model alone, or both with a slash.
pub fn model_of(change: &Object) -> (Option<String>, Option<String>) {
    let field = |name: &str| change.get(name).and_then(Value::as_str).map(str::to_owned);
    if let (None, None, Some(model)) = (change.get("provider"), change.get("modelId"), field("model")) {
        return match model.split_once('/') {
            Some((provider, model)) => (Some(provider.to_owned()), Some(model.to_owned())),
            None => (None, Some(model)),
        };
    }
    (field("provider"), field("modelId"))
}

/// Type and data of a `custom` entry, also where they are called `key` and `value`.
pub fn custom_of(entry: &Object) -> Option<(String, Option<Value>)> {
    let name = |field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
    match name("customType") {
        Some(kind) => Some((kind, entry.get("data").cloned())),
        None => Some((name("key")?, entry.get("value").cloned())),
    }
}

/// How many of the oldest messages a `compaction` replaces, if it counts them instead of naming the
/// first one kept.
pub fn removed_count(compaction: &Object) -> Option<usize> {
    if compaction.contains_key("firstKeptEntryId") {
        return None;
    }
    let count = compaction.get("removedCount")?.as_f64()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    return Some(count as usize);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::context::for_model;
    use crate::transcript::file::{OnOpen, TranscriptFile};
    use crate::transcript::tree::NewEntry;
    use crate::transcript::{Stamp, Transcript};

    fn object(json: &str) -> Object {
        match json::parse(json) {
            Ok(Value::Object(object)) => object,
            other => panic!("{json}: {other:?}"),
        }
    }

    /// One line for each message of the context: its role, and its text or what else it is.
    fn told(seed: &str) -> Vec<String> {
        let transcript = Transcript::read(seed).expect("a header");
        let context = transcript.context();
        for_model(context.messages)
            .iter()
            .map(|message| json::stringify_object(message.as_object()))
            .collect()
    }

    #[test]
    fn lines_without_ids_are_a_conversation() {
        let messages = told(include_str!("../../tests/fixtures/seed-000.jsonl"));
        assert_eq!(messages.len(), 2);
        assert!(messages[0].contains("hello") && messages[1].contains("hi there"), "{messages:?}");
    }

    #[test]
    fn usage_beside_the_message_and_a_model_without_provider_are_understood() {
        let text = include_str!("../../tests/fixtures/seed-001.jsonl");
        let transcript = Transcript::read(text).expect("a header");
        assert_eq!(transcript.session_id(), "08ef14de-0000-4000-8000-000000000001");
        let context = transcript.context();
        assert_eq!(context.messages.len(), 2);
        let usage = context.messages[1].get("usage").map(json::stringify);
        assert_eq!(
            usage.as_deref(),
            Some(r#"{"input":1000,"output":50,"cacheRead":0,"cacheWrite":0,"totalTokens":1050}"#)
        );
        let customs: Vec<_> =
            transcript.entries().iter().filter_map(|entry| custom_of(&entry.object())).collect();
        assert_eq!(customs[0], ("openclaw.cache-ttl".to_owned(), Some(Value::from(45_000))));
        assert_eq!(customs[1].0, "model-snapshot");
    }

    #[test]
    fn a_header_may_call_its_id_session_id() {
        let text = include_str!("../../tests/fixtures/seed-002.jsonl");
        let transcript = Transcript::read(text).expect("a header");
        assert_eq!(transcript.session_id(), "main");
        assert_eq!(transcript.context().messages.len(), 2);
    }

    #[test]
    fn a_compaction_that_counts_what_it_removed_keeps_the_rest() {
        let messages = told(include_str!("../../tests/fixtures/seed-003.jsonl"));
        assert_eq!(messages.len(), 4);
        assert!(messages[0].contains("They greeted."), "{messages:?}");
        assert!(
            messages[1].contains("second question") && messages[3].contains("third question"),
            "{messages:?}"
        );
    }

    #[test]
    fn tool_messages_of_a_chat_api_reach_the_model() {
        let messages = told(include_str!("../../tests/fixtures/seed-004.jsonl"));
        assert_eq!(messages.len(), 4);
        assert!(
            messages[1]
                .contains(r#"{"type":"toolCall","id":"call_1","name":"read","arguments":{"path":"a.md"}}"#)
        );
        assert!(messages[2].contains(r#""role":"toolResult","toolCallId":"call_1""#), "{messages:?}");
    }

    #[test]
    fn every_shape_can_be_opened_and_continued() {
        let seeds = [
            (include_str!("../../tests/fixtures/seed-000.jsonl"), OnOpen::Nothing),
            (include_str!("../../tests/fixtures/seed-001.jsonl"), rewritten()),
            (include_str!("../../tests/fixtures/seed-002.jsonl"), rewritten()),
            (include_str!("../../tests/fixtures/seed-003.jsonl"), rewritten()),
            (include_str!("../../tests/fixtures/seed-004.jsonl"), rewritten()),
        ];
        for (seed, on_open) in seeds {
            let mut count = 0;
            let mut fresh_id = || {
                count += 1;
                format!("{count:08}-")
            };
            let mut stamp = Stamp { now: jiff::Timestamp::UNIX_EPOCH, fresh_id: &mut fresh_id };
            let told = Transcript::read(seed).expect("a header").context().messages.len();
            let (mut file, action) = TranscriptFile::open(Some(seed), "/cwd", &mut stamp);
            let mut text = match &action {
                OnOpen::Replace { text, keep_copy: false } => text.clone(),
                _ => seed.to_owned(),
            };
            assert_eq!(std::mem::discriminant(&action), std::mem::discriminant(&on_open), "{seed}");
            assert_eq!(file.transcript().context().messages.len(), told, "{seed}");
            let mut answer = Message::default();
            answer.set("role", "assistant");
            let appended = file.append(NewEntry::Message(answer), &mut stamp).expect("appended");
            text.push_str(&appended.write.unwrap_or_default());
            let (again, action) = TranscriptFile::open(Some(&text), "/cwd", &mut stamp);
            assert_eq!(action, OnOpen::Nothing, "{seed}");
            assert_eq!(again.transcript().context().messages.len(), told + 1, "{seed}");
        }
    }

    fn rewritten() -> OnOpen {
        OnOpen::Replace { text: String::new(), keep_copy: false }
    }

    #[test]
    fn a_model_change_names_its_model_in_three_ways() {
        let table = [
            (r#"{"provider":"p","modelId":"m"}"#, Some("p"), Some("m")),
            (r#"{"model":"m"}"#, None, Some("m")),
            (r#"{"model":"p/m/n"}"#, Some("p"), Some("m/n")),
            (r#"{"provider":"p","model":"m"}"#, Some("p"), None),
            ("{}", None, None),
        ];
        for (change, provider, model) in table {
            let (p, m) = model_of(&object(change));
            assert_eq!((p.as_deref(), m.as_deref()), (provider, model), "{change}");
        }
    }
}
