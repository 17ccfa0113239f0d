//! The chunks of Gemini's `streamGenerateContent`.

use serde_json::{Value, json};

use super::{End, Said, Script};

pub(super) fn events(script: &Script) -> Vec<String> {
    let mut chunks = Vec::new();
    for part in &script.parts {
        match part {
            Said::Text(pieces) => chunks.extend(pieces.iter().map(|piece| chunk(json!({"text": piece})))),
            Said::Thinking(pieces, signature) => {
                chunks.extend(pieces.iter().map(|piece| chunk(json!({"thought": true, "text": piece}))));
                chunks.push(chunk(json!({"thought": true, "text": "", "thoughtSignature": signature})));
            }
            Said::Redacted(_) => {}
            // Calls come whole.
            Said::Call { id, name, arguments, signature } => {
                let arguments: Value = serde_json::from_str(&arguments.concat()).unwrap_or_default();
                let mut part = json!({"functionCall": {"id": id, "name": name, "args": arguments}});
                if let Some(signature) = signature {
                    part["thoughtSignature"] = (*signature).into();
                }
                chunks.push(chunk(part));
            }
        }
    }
    let why = match script.end {
        End::Done | End::Tools => "STOP",
        End::Length => "MAX_TOKENS",
        End::Refused => "SAFETY",
    };
    chunks.push(json!({
        "candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": why}],
        "usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 15, "thoughtsTokenCount": 5, "totalTokenCount": 120},
        "modelVersion": "m",
    }));
    chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect()
}

fn chunk(part: Value) -> Value {
    json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]})
}
