//! Signatures that one provider puts into a history and another does not take (`transcripts.md` §8).

use crate::json::{self, Object, Value};
use crate::message::{Content, Message, Role};
use crate::text;

/// Which `thought_signature` fields stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThoughtSignatures {
    /// All but message ids (`msg_…`), which Claude leaves there.
    NoMessageIds,
    /// Only valid base64, in either spelling of the field.
    OnlyBase64,
}

/// Removes the signatures that do not stay.
pub fn strip_thought_signatures(blocks: &mut [Value], keep: ThoughtSignatures) {
    for block in blocks.iter_mut().filter_map(Value::as_object_mut) {
        match keep {
            ThoughtSignatures::NoMessageIds => remove_unless(block, "thought_signature", |signature| {
                !signature.as_str().is_some_and(|text| text.starts_with("msg_"))
            }),
            ThoughtSignatures::OnlyBase64 => {
                for field in ["thought_signature", "thoughtSignature"] {
                    remove_unless(block, field, |signature| signature.as_str().is_some_and(is_base64));
                }
            }
        }
    }
}

fn remove_unless(block: &mut Object, field: &str, stays: impl Fn(&Value) -> bool) {
    if block.get(field).is_some_and(|signature| !stays(signature)) {
        block.shift_remove(field);
    }
}

/// Whether `signature` is base64 of at least one byte, of the plain or the URL alphabet, with or
/// without padding.
pub fn is_base64(signature: &str) -> bool {
    let compact: String = signature.chars().filter(|c| !text::is_space(*c)).collect();
    let digits = compact.trim_end_matches('=');
    let is_url = digits.contains(['-', '_']);
    let values: Option<Vec<u8>> = digits.bytes().map(|digit| base64_value(digit, is_url)).collect();
    values.is_some_and(|values| match (values.len() % 4, values.last()) {
        (_, None) | (1, _) => false,
        (0, _) => true,
        // The last digit of an incomplete group may only carry bits that belong to a byte.
        (2, Some(last)) => last & 0b1111 == 0,
        (_, Some(last)) => last & 0b11 == 0,
    })
}

/// The six bits that a base64 digit stands for.
pub(super) fn base64_value(digit: u8, url: bool) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' if !url => Some(62),
        b'/' if !url => Some(63),
        b'-' if url => Some(62),
        b'_' if url => Some(63),
        _ => None,
    }
}

/// Drops thinking without a valid signature, for Claude behind Antigravity; a signature in another
/// field moves to where it belongs.
pub fn drop_unsigned_thinking(messages: Vec<Message>) -> Vec<Message> {
    rewrite_answers(messages, |blocks| {
        let signed = |block: &Value| -> Option<Value> {
            if !is_thinking(block) {
                return Some(block.clone());
            }
            let fields = ["thinkingSignature", "signature", "thought_signature", "thoughtSignature"];
            let signature =
                fields.iter().filter_map(|field| block.get(field)).find(|value| !value.is_null())?;
            let mut signed = block.clone();
            signed["thinkingSignature"] = signature.clone();
            is_antigravity_signature(signature.as_str()?).then_some(signed)
        };
        Some(blocks.iter().filter_map(signed).collect())
    })
}

fn is_antigravity_signature(signature: &str) -> bool {
    let trimmed = text::trim(signature);
    let digits = trimmed.strip_suffix("==").or_else(|| trimmed.strip_suffix('=')).unwrap_or(trimmed);
    let is_digits = digits.bytes().all(|digit| base64_value(digit, false).is_some());
    !digits.is_empty() && is_digits && trimmed.len().is_multiple_of(4)
}

/// Drops OpenAI reasoning items with nothing but thinking after them: the Responses API wants each
/// followed by what it led to.
pub fn drop_trailing_reasoning(messages: Vec<Message>) -> Vec<Message> {
    rewrite_answers(messages, |blocks| {
        let last_other = blocks.iter().rposition(|block| !is_thinking(block));
        let trails = |at: usize| last_other.is_none_or(|last| at > last);
        let keeps = |at: usize, block: &Value| {
            !(trails(at)
                && is_thinking(block)
                && block.get("thinkingSignature").is_some_and(is_reasoning_item))
        };
        let kept: Vec<Value> = blocks
            .iter()
            .enumerate()
            .filter(|(at, block)| keeps(*at, block))
            .map(|(_, block)| block.clone())
            .collect();
        // An answer that was empty before is not ours to drop.
        (!blocks.is_empty()).then_some(kept)
    })
}

/// Whether a thinking signature is an item of OpenAI's Responses API, as an object or its JSON text.
pub fn is_reasoning_item(signature: &Value) -> bool {
    let parsed = match signature {
        Value::String(text) => {
            let trimmed = text::trim(text);
            let is_object = trimmed.starts_with('{') && trimmed.ends_with('}');
            if is_object { json::parse(trimmed).unwrap_or_default() } else { Value::Null }
        }
        other => other.clone(),
    };
    let field = |name: &str| parsed.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = field("type");
    field("id").starts_with("rs_") && (kind == "reasoning" || kind.starts_with("reasoning."))
}

fn is_thinking(block: &Value) -> bool {
    block.get("type").and_then(Value::as_str) == Some("thinking")
}

/// Rewrites the blocks of every answer that `rewrite` has new ones for; one left without any is dropped.
fn rewrite_answers(messages: Vec<Message>, rewrite: impl Fn(&[Value]) -> Option<Vec<Value>>) -> Vec<Message> {
    let one = |mut message: Message| -> Option<Message> {
        let rewritten = match message.content() {
            Content::Blocks(blocks) if message.role() == Role::Assistant => rewrite(blocks),
            _ => None,
        };
        match rewritten {
            None => Some(message),
            Some(blocks) if blocks.is_empty() => None,
            Some(blocks) => {
                message.set("content", blocks);
                Some(message)
            }
        }
    };
    messages.into_iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn base64_is_told_from_message_ids() {
        let table = [
            ("QUJD", true),
            ("QUJDRA==", true),
            ("QUJDRA", true),
            (" QU JD\n", true),
            ("_-8", true),
            ("_-9", false), // bits beyond the last byte
            ("+_AA", false),
            ("msg_abc123", false),
            ("keep me?", false),
            ("A", false),
            ("QU=JD", false),
            ("====", false),
            ("", false),
        ];
        for (signature, valid) in table {
            assert_eq!(is_base64(signature), valid, "{signature:?}");
        }
    }

    #[test]
    fn reasoning_at_the_end_of_an_answer_goes() {
        let reasoning = json!({"type": "thinking", "thinking": "", "thinkingSignature": "{\"id\":\"rs_1\",\"type\":\"reasoning\"}"});
        let plain = json!({"type": "thinking", "thinking": "t"});
        let text = json!({"type": "text", "text": "a"});
        let table = [
            (json!([reasoning]), None),
            (json!([reasoning, text]), Some(json!([reasoning, text]))),
            (json!([text, reasoning, plain]), Some(json!([text, plain]))),
            (json!([]), Some(json!([]))),
        ];
        for (content, left) in table {
            let message = Message::from_value(json!({"role": "assistant", "content": content})).unwrap();
            let after = drop_trailing_reasoning(vec![message]);
            assert_eq!(after.first().and_then(|message| message.get("content")), left.as_ref(), "{content}");
        }
    }

    #[test]
    fn claude_behind_antigravity_needs_signed_thinking() {
        let table = [
            (json!({"type": "thinking", "thinkingSignature": "QUJD"}), Some("QUJD")),
            (json!({"type": "thinking", "signature": "QUJDRA=="}), Some("QUJDRA==")),
            (json!({"type": "thinking", "thinkingSignature": "", "signature": "QUJD"}), None),
            (json!({"type": "thinking", "thinkingSignature": "QUJ"}), None),
            (json!({"type": "thinking"}), None),
        ];
        for (block, signature) in table {
            let message = Message::from_value(json!({"role": "assistant", "content": [block]})).unwrap();
            let after = drop_unsigned_thinking(vec![message]);
            let kept = after.first().map(|message| message.blocks()[0]["thinkingSignature"].clone());
            assert_eq!(kept, signature.map(Value::from), "{block}");
        }
    }
}
