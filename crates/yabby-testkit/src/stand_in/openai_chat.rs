//! The chunks of OpenAI's Chat Completions.

use serde_json::{Value, json};

use super::{End, Said, Script};

pub(super) fn events(script: &Script) -> Vec<String> {
    let mut chunks = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let mut calls = 0;
    for part in &script.parts {
        match part {
            Said::Text(pieces) => chunks.extend(pieces.iter().map(|piece| delta("content", piece))),
            Said::Thinking(pieces, field) => chunks.extend(pieces.iter().map(|piece| delta(field, piece))),
            Said::Redacted(_) => {}
            Said::Call { id, name, arguments, .. } => {
                let begun = json!({"index": calls, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
                chunks.push(chunk(json!({"tool_calls": [begun]}), Value::Null));
                for piece in arguments {
                    let more = json!({"index": calls, "function": {"arguments": piece}});
                    chunks.push(chunk(json!({"tool_calls": [more]}), Value::Null));
                }
                calls += 1;
            }
        }
    }
    let stop = match script.end {
        End::Done => "stop",
        End::Length => "length",
        End::Tools => "tool_calls",
        End::Refused => "content_filter",
    };
    chunks.push(chunk(json!({}), stop.into()));
    chunks.push(json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": {
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 60},
    }}));
    let mut events: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn delta(field: &str, piece: &str) -> Value {
    chunk(json!({field: piece}), Value::Null)
}

fn chunk(delta: Value, finish: Value) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}
