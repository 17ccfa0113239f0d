//! OpenAI's Responses.
//!
//! Nothing is kept over there (`store: false`), so the items of an answer go back as they came: a
//! reasoning item is the `thinkingSignature` of its block as JSON, encrypted content included, the id of
//! a message its `textSignature`, and a call is known as `call_id|item id`.

use std::collections::HashMap;

use serde_json::json;
use yabby_domain::directive::level::ThinkLevel;
use yabby_domain::json::{self, Value};
use yabby_domain::message::{Block, Message};
use yabby_domain::seam::model::{Answer, ModelErrorKind, Stop};
use yabby_domain::seam::tool::ToolSpec;
use yabby_domain::text;
use yabby_domain::usage::Usage;

use crate::failure::Failure;
use crate::stored::{Piece, ToolResult, Turn, data_url, turns};
use crate::wire::{
    Asked, BEARER, Body, Conversation, Heard, Outgoing, Reader, count, described, effort, room, text_at, url,
};
use crate::writing::{CallPart, Part, Writing};

/// The least that may be asked for.
const LEAST: u64 = 16;

pub(crate) fn outgoing(asked: Asked<'_>) -> Outgoing {
    let Asked { settings, model, request } = asked;
    let mut body = json!({
        "model": model.id,
        "stream": true,
        "store": false,
        "max_output_tokens": room(model, request).asked.max(LEAST),
    });
    body["input"] = json!([]);
    if text::non_blank(&request.system).is_some() {
        body["instructions"] = request.system.as_str().into();
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(|spec| tool(spec)).collect();
    }
    if !request.session_id.is_empty() {
        body["prompt_cache_key"] = request.session_id.as_str().into();
    }
    if model.reasoning {
        body["include"] = json!(["reasoning.encrypted_content"]);
        if request.thinking != ThinkLevel::Off {
            body["reasoning"] =
                json!({"effort": effort(settings, model, request.thinking), "summary": "auto"});
        }
    }
    let url = url(settings, "responses");
    let format = format!("responses {}", model.images);
    let conversation = Conversation::new("input", request, &format, |messages| input(messages, model.images));
    let body = Body { fields: body, conversation };
    Outgoing { url, headers: Vec::new(), key: BEARER, body }
}

fn tool(spec: &ToolSpec) -> Value {
    // Strict, which is what it is if nothing is said, wants schemas of a special kind.
    let mut tool = described(spec, "parameters");
    tool["type"] = "function".into();
    tool["strict"] = false.into();
    tool
}

fn input(messages: &[Message], images: bool) -> Vec<Value> {
    let mut items = Vec::new();
    for turn in turns(messages, images) {
        match turn {
            Turn::User(pieces) => {
                let content: Vec<Value> = pieces.iter().map(part).collect();
                items.push(json!({"type": "message", "role": "user", "content": content}));
            }
            Turn::Answer(answer) => items.extend(answer_items(answer)),
            Turn::Results(results) => items.extend(results.iter().map(result)),
        }
    }
    items
}

fn part(piece: &Piece<'_>) -> Value {
    match piece {
        Piece::Text(text) => json!({"type": "input_text", "text": text}),
        Piece::Image { mime_type, data } => {
            json!({"type": "input_image", "detail": "auto", "image_url": data_url(mime_type, data)})
        }
    }
}

fn result(result: &ToolResult<'_>) -> Value {
    let call = result.call.split_once('|').map_or(result.call, |(call, _)| call);
    let output: Value = match result.images().next() {
        None => result.text().into(),
        Some(_) => result.pieces.iter().map(part).collect(),
    };
    json!({"type": "function_call_output", "call_id": call, "output": output})
}

fn answer_items(answer: &Message) -> Vec<Value> {
    answer.to_blocks().iter().filter_map(answer_item).collect()
}

fn answer_item(block: &Value) -> Option<Value> {
    match Block::of(block) {
        Block::Thinking { signature, .. } => json::parse(signature?).ok().filter(Value::is_object),
        Block::Text(said) => {
            text::non_blank(said)?;
            let id = block.get("textSignature").and_then(Value::as_str).filter(|id| is_message_id(id));
            Some(match id {
                Some(id) => json!({
                    "type": "message", "role": "assistant", "id": id, "status": "completed",
                    "content": [{"type": "output_text", "text": said, "annotations": []}],
                }),
                None => json!({"type": "message", "role": "assistant", "content": said}),
            })
        }
        Block::ToolCall(call) => {
            let (id, item) = match call.id?.split_once('|') {
                Some((id, item)) => (id, Some(item)),
                None => (call.id?, None),
            };
            let arguments = call.arguments.map_or_else(|| "{}".to_owned(), json::stringify);
            let mut found =
                json!({"type": "function_call", "call_id": id, "name": call.name?, "arguments": arguments});
            if let Some(item) = item {
                found["id"] = item.into();
            }
            Some(found)
        }
        Block::Image | Block::Other => None,
    }
}

fn is_message_id(id: &str) -> bool {
    id.starts_with("msg") && id.len() <= 64
}

/// Reads the events of an answer.
#[derive(Default)]
pub(crate) struct Stream {
    writing: Writing,
    /// Where the provider's items stand among our parts.
    places: HashMap<u64, usize>,
    usage: Usage,
    stop: Option<Stop>,
}

impl Reader for Stream {
    fn read(&mut self, event: &Value, heard: Heard<'_>) -> Result<(), Failure> {
        let index = event.get("output_index").and_then(Value::as_u64).unwrap_or(0);
        let item = event.get("item").unwrap_or(&Value::Null);
        match text_at(event, "type") {
            "response.output_item.added" => {
                self.begin(index, item, heard);
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                let at = self.place(index, Part::text, heard);
                self.writing.append(at, text_at(event, "delta"), heard);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let at = self.place(index, Part::thinking, heard);
                self.writing.append(at, text_at(event, "delta"), heard);
            }
            "response.reasoning_summary_part.added" => {
                let is_first = event.get("summary_index").and_then(Value::as_u64).unwrap_or(0) == 0;
                if let (Some(at), false) = (self.places.get(&index), is_first) {
                    self.writing.append(*at, "\n\n", heard);
                }
            }
            "response.function_call_arguments.delta" => {
                if let Some(at) = self.places.get(&index) {
                    self.writing.append(*at, text_at(event, "delta"), heard);
                }
            }
            "response.output_item.done" => self.end(index, item, heard),
            "response.completed" | "response.incomplete" => {
                let response = event.get("response").unwrap_or(&Value::Null);
                if let Some(usage) = response.get("usage") {
                    self.usage = usage_of(usage);
                }
                let why = response.get("incomplete_details").map(|why| text_at(why, "reason"));
                self.stop = Some(match (text_at(response, "status"), why) {
                    (_, Some("content_filter")) => return Err(Failure::new(ModelErrorKind::Refused, "")),
                    ("incomplete", _) => Stop::Length,
                    _ => Stop::Done,
                });
            }
            "response.failed" | "response.cancelled" | "error" => return Err(Failure::of_event(event)),
            _ if event.get("error").is_some_and(Value::is_object) => return Err(Failure::of_event(event)),
            _ => {}
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.stop.is_some()
    }

    fn finish(self: Box<Self>) -> Result<Answer, Failure> {
        let Some(stop) = self.stop else { return Err(Failure::cut_off()) };
        let stop = self.writing.stop(stop);
        Ok(Answer { blocks: self.writing.into_blocks(), stop, usage: self.usage, cli_session_id: None })
    }
}

impl Stream {
    fn begin(&mut self, index: u64, item: &Value, heard: Heard<'_>) -> Option<usize> {
        let part = match text_at(item, "type") {
            "reasoning" => Part::thinking(),
            "message" => Part::text(),
            "function_call" => Part::Call(CallPart {
                id: call_id(item),
                name: text_at(item, "name").to_owned(),
                arguments: text_at(item, "arguments").to_owned(),
                signature: None,
            }),
            _ => return None,
        };
        let at = self.writing.begin(part, heard);
        self.places.insert(index, at);
        Some(at)
    }

    fn place(&mut self, index: u64, part: fn() -> Part, heard: Heard<'_>) -> usize {
        match self.places.get(&index) {
            Some(at) => *at,
            None => {
                let at = self.writing.begin(part(), heard);
                self.places.insert(index, at);
                at
            }
        }
    }

    /// What an item is in the end counts, whatever was heard of it.
    fn end(&mut self, index: u64, item: &Value, heard: Heard<'_>) {
        let known = self.places.get(&index).copied();
        let Some(at) = known.or_else(|| self.begin(index, item, heard)) else { return };
        let joined = |list: &str, between: &str| {
            let parts = item.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let words = |part: &Value| ["text", "refusal"].map(|field| text_at(part, field)).concat();
            parts.iter().map(words).collect::<Vec<_>>().join(between)
        };
        match self.writing.get_mut(at) {
            Some(Part::Thinking { text, signature }) => {
                let told = [joined("summary", "\n\n"), joined("content", "\n\n")];
                if let Some(told) = told.into_iter().find(|told| !told.is_empty()) {
                    *text = told;
                }
                *signature = Some(json::stringify(item));
            }
            Some(Part::Text { text, signature }) => {
                *signature = item.get("id").and_then(Value::as_str).map(str::to_owned);
                let whole = joined("content", "");
                if text.is_empty() {
                    self.writing.append(at, &whole, heard);
                } else if !whole.is_empty() {
                    *text = whole;
                }
            }
            Some(Part::Call(call)) => {
                call.id = call_id(item);
                if !text_at(item, "arguments").is_empty() {
                    call.arguments = text_at(item, "arguments").to_owned();
                }
            }
            Some(Part::Redacted(_)) | None => {}
        }
    }
}

fn call_id(item: &Value) -> String {
    match (text_at(item, "call_id"), text_at(item, "id")) {
        (call, "") => call.to_owned(),
        ("", item) => item.to_owned(),
        (call, item) => format!("{call}|{item}"),
    }
}

fn usage_of(report: &Value) -> Usage {
    let read = count(report, &["input_tokens_details", "cached_tokens"]);
    let input = count(report, &["input_tokens"]);
    let output = count(report, &["output_tokens"]);
    Usage {
        input: Some((input - read).max(0.0)),
        output: Some(output),
        cache_read: Some(read),
        cache_write: Some(0.0),
        total: Some(input + output),
    }
}
