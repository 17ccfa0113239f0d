//! The events of OpenAI's Responses.

use serde_json::{Value, json};

use super::{End, Said, Script};

pub(super) fn events(script: &Script) -> Vec<String> {
    let mut events =
        vec![json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}})];
    for (index, part) in script.parts.iter().enumerate() {
        item(&mut events, index, part);
    }
    let (name, status, why) = match script.end {
        End::Done | End::Tools => ("response.completed", "completed", Value::Null),
        End::Length => ("response.incomplete", "incomplete", json!({"reason": "max_output_tokens"})),
        End::Refused => ("response.incomplete", "incomplete", json!({"reason": "content_filter"})),
    };
    events.push(json!({"type": name, "response": {
        "id": "resp_1", "status": status, "incomplete_details": why,
        "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60}, "output_tokens": 20, "total_tokens": 120},
    }}));
    let numbered = events.into_iter().enumerate().map(|(number, mut event)| {
        event["sequence_number"] = number.into();
        event
    });
    let name = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
    numbered.map(|event| format!("event: {}\ndata: {event}\n\n", name(&event))).collect()
}

fn item(events: &mut Vec<Value>, index: usize, part: &Said) {
    let mut tell = |name: &str, mut event: Value| {
        event["type"] = name.into();
        event["output_index"] = index.into();
        events.push(event);
    };
    match part {
        Said::Text(pieces) => {
            let id = format!("msg_{index}");
            tell(
                "response.output_item.added",
                json!({"item": {"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []}}),
            );
            tell(
                "response.content_part.added",
                json!({"item_id": id, "content_index": 0, "part": {"type": "output_text", "text": "", "annotations": []}}),
            );
            for piece in pieces {
                tell(
                    "response.output_text.delta",
                    json!({"item_id": id, "content_index": 0, "delta": piece}),
                );
            }
            let content = json!([{"type": "output_text", "text": pieces.concat(), "annotations": []}]);
            tell(
                "response.output_item.done",
                json!({"item": {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content}}),
            );
        }
        Said::Thinking(pieces, encrypted) => {
            let id = format!("rs_{index}");
            tell(
                "response.output_item.added",
                json!({"item": {"type": "reasoning", "id": id, "summary": []}}),
            );
            tell(
                "response.reasoning_summary_part.added",
                json!({"item_id": id, "summary_index": 0, "part": {"type": "summary_text", "text": ""}}),
            );
            for piece in pieces {
                tell(
                    "response.reasoning_summary_text.delta",
                    json!({"item_id": id, "summary_index": 0, "delta": piece}),
                );
            }
            let summary = json!([{"type": "summary_text", "text": pieces.concat()}]);
            tell(
                "response.output_item.done",
                json!({"item": {"type": "reasoning", "id": id, "summary": summary, "encrypted_content": encrypted}}),
            );
        }
        Said::Redacted(_) => {}
        Said::Call { id: call, name, arguments, .. } => {
            let id = format!("fc_{index}");
            let item = |status: &str, arguments: String| json!({"item": {"type": "function_call", "id": id, "call_id": call, "name": name, "arguments": arguments, "status": status}});
            tell("response.output_item.added", item("in_progress", String::new()));
            for piece in arguments {
                tell("response.function_call_arguments.delta", json!({"item_id": id, "delta": piece}));
            }
            tell(
                "response.function_call_arguments.done",
                json!({"item_id": id, "arguments": arguments.concat()}),
            );
            tell("response.output_item.done", item("completed", arguments.concat()));
        }
    }
}
