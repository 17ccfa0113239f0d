//! Anthropic's Messages, and whoever speaks it.
//!
//! Thinking is signed and goes back as it came: the text, its signature, and what was redacted.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;
use yabby_domain::directive::level::ThinkLevel;
use yabby_domain::json::{Object, Value};
use yabby_domain::message::{Block, Message};
use yabby_domain::seam::model::{Answer, ModelErrorKind, ModelRequest, Stop};
use yabby_domain::seam::tool::ToolSpec;
use yabby_domain::text;
use yabby_domain::usage::Usage;

use crate::failure::Failure;
use crate::settings::ThinkingStyle;
use crate::stored::{Piece, ToolResult, Turn, turns};
use crate::wire::{Asked, Body, Conversation, Heard, Outgoing, Reader, count, described, room, text_at, url};
use crate::writing::{CallPart, Part, Writing};

const VERSION: &str = "2023-06-01";
/// Thinking between the calls of tools, not only before the first.
const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";
/// The least that thinking and an answer need, each.
const LEAST: u64 = 1024;

pub(crate) fn outgoing(asked: Asked<'_>) -> Outgoing {
    let Asked { settings, model, request } = asked;
    let mut body = json!({"model": model.id, "stream": true});
    body["messages"] = json!([]);
    let room = room(model, request);
    body["max_tokens"] = room.asked.into();
    if text::non_blank(&request.system).is_some() {
        body["system"] = json!([marked(json!({"type": "text", "text": request.system}))]);
    }
    if !request.tools.is_empty() {
        body["tools"] = tools(&request.tools);
    }
    let mut headers = vec![("anthropic-version", VERSION.to_owned())];
    if model.reasoning && request.thinking != ThinkLevel::Off {
        if model.compat.thinking == ThinkingStyle::Adaptive {
            body["thinking"] = json!({"type": "adaptive"});
            body["output_config"] = json!({"effort": effort(request.thinking)});
        } else if let Some((budget, most)) = budget(request.thinking, room.asked, room.most) {
            body["thinking"] = json!({"type": "enabled", "budget_tokens": budget});
            body["max_tokens"] = most.into();
            headers.push(("anthropic-beta", INTERLEAVED.to_owned()));
        }
    }
    let base = settings.base_url.trim_end_matches('/');
    let method = if base.ends_with("/v1") { "messages" } else { "v1/messages" };
    let body = Body { fields: body, conversation: conversation(request, model.images) };
    Outgoing { url: url(settings, method), headers, key: ("x-api-key", ""), body }
}

/// How much may be thought, and how much thought and said together; `None` if there is no room.
fn budget(level: ThinkLevel, most: u64, max_output: u64) -> Option<(u64, u64)> {
    let wanted = match level {
        ThinkLevel::Off => return None,
        ThinkLevel::Minimal => 1024,
        ThinkLevel::Low => 2048,
        ThinkLevel::Medium => 8192,
        ThinkLevel::High => 16_384,
        ThinkLevel::Xhigh => 32_768,
    };
    let together = (most + wanted).min(max_output);
    let thought = wanted.min(together.saturating_sub(LEAST));
    (thought >= LEAST).then_some((thought, together))
}

fn effort(level: ThinkLevel) -> &'static str {
    match level {
        ThinkLevel::Off | ThinkLevel::Minimal | ThinkLevel::Low => "low",
        ThinkLevel::Medium => "medium",
        ThinkLevel::High => "high",
        ThinkLevel::Xhigh => "max",
    }
}

/// The block, as the end of something that is worth remembering.
fn marked(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

fn tools(specs: &[Arc<ToolSpec>]) -> Value {
    let mut tools: Vec<Value> = specs.iter().map(|spec| described(spec, "input_schema")).collect();
    if let Some(last) = tools.pop() {
        tools.push(marked(last));
    }
    tools.into()
}

fn conversation(request: &ModelRequest, images: bool) -> Conversation {
    let format = format!("anthropic {images}");
    let mut conversation =
        Conversation::new("messages", request, &format, |messages| turns_of(messages, images));
    if let Some(last) = conversation.items.last_mut().filter(|last| text_at(last, "role") == "user")
        && let Some(block) = last["content"].as_array_mut().and_then(|blocks| blocks.last_mut())
    {
        *block = marked(block.take());
    }
    conversation
}

fn turns_of(messages: &[Message], images: bool) -> Vec<Value> {
    let mut turned: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in turns(messages, images) {
        let (role, blocks): (&str, Vec<Value>) = match turn {
            Turn::User(pieces) => ("user", pieces.into_iter().map(piece).collect()),
            Turn::Results(results) => ("user", results.iter().map(result).collect()),
            Turn::Answer(answer) => ("assistant", answer_blocks(answer)),
        };
        match turned.last_mut() {
            // Results and what a user says behind them are one turn of theirs.
            Some((last, earlier)) if *last == role => earlier.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => turned.push((role, blocks)),
        }
    }
    turned.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn piece(piece: Piece<'_>) -> Value {
    match piece {
        Piece::Text(text) => json!({"type": "text", "text": text}),
        Piece::Image { mime_type, data } => {
            json!({"type": "image", "source": {"type": "base64", "media_type": mime_type, "data": data}})
        }
    }
}

fn result(result: &ToolResult<'_>) -> Value {
    let content: Vec<Value> = result.pieces.iter().copied().map(piece).collect();
    json!({"type": "tool_result", "tool_use_id": result.call, "content": content, "is_error": result.is_error})
}

fn answer_blocks(answer: &Message) -> Vec<Value> {
    answer.to_blocks().iter().filter_map(answer_block).collect()
}

fn answer_block(block: &Value) -> Option<Value> {
    match Block::of(block) {
        Block::Text(text) => text::non_blank(text).map(|_| json!({"type": "text", "text": text})),
        Block::Thinking { text, signature } => match signature.and_then(text::non_blank) {
            Some(data) if block.get("redacted") == Some(&Value::Bool(true)) => {
                Some(json!({"type": "redacted_thinking", "data": data}))
            }
            Some(signature) => Some(json!({"type": "thinking", "thinking": text, "signature": signature})),
            // Without a signature it is nothing but words.
            None => text::non_blank(text).map(|_| json!({"type": "text", "text": text})),
        },
        Block::ToolCall(call) => {
            let input = call.arguments.cloned().unwrap_or_else(|| Value::Object(Object::new()));
            Some(json!({"type": "tool_use", "id": call.id?, "name": call.name?, "input": input}))
        }
        Block::Other if text_at(block, "type") == "redacted_thinking" => {
            Some(json!({"type": "redacted_thinking", "data": block.get("data")?}))
        }
        Block::Image | Block::Other => None,
    }
}

/// Reads the events of an answer.
#[derive(Default)]
pub(crate) struct Stream {
    writing: Writing,
    /// Where the provider's blocks stand in ours.
    places: HashMap<u64, usize>,
    usage: Usage,
    stop: Option<Stop>,
    complete: bool,
}

impl Reader for Stream {
    fn read(&mut self, event: &Value, heard: Heard<'_>) -> Result<(), Failure> {
        match text_at(event, "type") {
            "message_start" => {
                if let Some(usage) = event.get("message").and_then(|message| message.get("usage")) {
                    self.count(usage);
                }
            }
            "content_block_start" => {
                if let (Some(index), Some(block)) = (index(event), event.get("content_block")) {
                    self.begin(index, block, heard);
                }
            }
            "content_block_delta" => {
                let place = index(event).and_then(|index| self.places.get(&index)).copied();
                if let (Some(at), Some(delta)) = (place, event.get("delta")) {
                    self.delta(at, delta, heard);
                }
            }
            "message_delta" => {
                if let Some(usage) = event.get("usage") {
                    self.count(usage);
                }
                match event.get("delta").map(|delta| text_at(delta, "stop_reason")).unwrap_or_default() {
                    "" => {}
                    "refusal" => return Err(Failure::new(ModelErrorKind::Refused, "")),
                    "tool_use" => self.stop = Some(Stop::ToolUse),
                    "max_tokens" | "model_context_window_exceeded" => self.stop = Some(Stop::Length),
                    // `end_turn`, `stop_sequence`, `pause_turn`, and whatever comes to their mind.
                    _ => self.stop = Some(Stop::Done),
                }
            }
            "message_stop" => self.complete = true,
            "error" => return Err(Failure::of_event(event)),
            // `ping`, `content_block_stop`, and what is not known yet.
            _ => {}
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.complete
    }

    fn finish(self: Box<Self>) -> Result<Answer, Failure> {
        let Some(stop) = self.stop else { return Err(Failure::cut_off()) };
        let stop = self.writing.stop(stop);
        let parts = [self.usage.input, self.usage.output, self.usage.cache_read, self.usage.cache_write];
        let total = parts.into_iter().flatten().sum();
        let usage = Usage { total: Some(total), ..self.usage };
        Ok(Answer { blocks: self.writing.into_blocks(), stop, usage, cli_session_id: None })
    }
}

fn index(event: &Value) -> Option<u64> {
    event.get("index")?.as_u64()
}

impl Stream {
    fn begin(&mut self, index: u64, block: &Value, heard: Heard<'_>) {
        let part = match text_at(block, "type") {
            "text" => Part::text(),
            "thinking" => Part::thinking(),
            "redacted_thinking" => {
                Part::Redacted(json!({"type": "redacted_thinking", "data": text_at(block, "data")}))
            }
            "tool_use" => Part::Call(CallPart {
                id: text_at(block, "id").to_owned(),
                name: text_at(block, "name").to_owned(),
                // It is empty unless all of it comes at once.
                arguments: match block.get("input") {
                    Some(Value::Object(input)) if !input.is_empty() => Value::from(input.clone()).to_string(),
                    _ => String::new(),
                },
                signature: None,
            }),
            _ => return,
        };
        let at = self.writing.begin(part, heard);
        self.places.insert(index, at);
        self.writing.append(at, text_at(block, "text"), heard);
        self.writing.append(at, text_at(block, "thinking"), heard);
        self.sign(at, text_at(block, "signature"));
    }

    fn delta(&mut self, at: usize, delta: &Value, heard: Heard<'_>) {
        match text_at(delta, "type") {
            "text_delta" => self.writing.append(at, text_at(delta, "text"), heard),
            "thinking_delta" => self.writing.append(at, text_at(delta, "thinking"), heard),
            "input_json_delta" => self.writing.append(at, text_at(delta, "partial_json"), heard),
            "signature_delta" => self.sign(at, text_at(delta, "signature")),
            _ => {}
        }
    }

    fn sign(&mut self, at: usize, more: &str) {
        if let (Some(Part::Thinking { signature, .. }), false) = (self.writing.get_mut(at), more.is_empty()) {
            signature.get_or_insert_default().push_str(more);
        }
    }

    /// Later reports repeat what they know, and leave out the rest.
    fn count(&mut self, usage: &Value) {
        let mut take = |field: &str, into: fn(&mut Usage) -> &mut Option<f64>| {
            if usage.get(field).is_some_and(Value::is_number) {
                *into(&mut self.usage) = Some(count(usage, &[field]));
            }
        };
        take("input_tokens", |usage| &mut usage.input);
        take("output_tokens", |usage| &mut usage.output);
        take("cache_read_input_tokens", |usage| &mut usage.cache_read);
        take("cache_creation_input_tokens", |usage| &mut usage.cache_write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_leaves_room_for_an_answer() {
        //  level              most     max     budget  together
        let table = [
            (ThinkLevel::Off, 32_000, 64_000, None),
            (ThinkLevel::Low, 32_000, 64_000, Some((2048, 34_048))),
            (ThinkLevel::High, 32_000, 32_000, Some((16_384, 32_000))),
            (ThinkLevel::High, 4096, 8192, Some((7168, 8192))),
            (ThinkLevel::Minimal, 1000, 2000, None),
        ];
        for (level, most, max, expected) in table {
            assert_eq!(budget(level, most, max), expected, "{level:?} {most} {max}");
        }
    }
}
