//! The events of Anthropic's Messages.

use serde_json::{Value, json};

use super::{End, Said, Script};

pub(super) fn events(script: &Script) -> Vec<String> {
    let mut events = vec![json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 40, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 0, "output_tokens": 1},
    }})];
    for (index, part) in script.parts.iter().enumerate() {
        let (start, deltas) = block(part);
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        if index == 0 {
            events.push(json!({"type": "ping"}));
        }
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let stop = match script.end {
        End::Done => "end_turn",
        End::Length => "max_tokens",
        End::Tools => "tool_use",
        End::Refused => "refusal",
    };
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 20}}));
    events.push(json!({"type": "message_stop"}));
    let name = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", name(event))).collect()
}

fn block(part: &Said) -> (Value, Vec<Value>) {
    match part {
        Said::Text(pieces) => {
            let delta = |piece: &&str| json!({"type": "text_delta", "text": piece});
            (json!({"type": "text", "text": ""}), pieces.iter().map(delta).collect())
        }
        Said::Thinking(pieces, signature) => {
            let delta = |piece: &&str| json!({"type": "thinking_delta", "thinking": piece});
            let mut deltas: Vec<Value> = pieces.iter().map(delta).collect();
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        Said::Redacted(data) => (json!({"type": "redacted_thinking", "data": data}), Vec::new()),
        Said::Call { id, name, arguments, .. } => {
            let delta = |piece: &&str| json!({"type": "input_json_delta", "partial_json": piece});
            (
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                arguments.iter().map(delta).collect(),
            )
        }
    }
}
