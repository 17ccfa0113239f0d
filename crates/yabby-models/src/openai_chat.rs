//! OpenAI's Chat Completions, and the many servers that speak it, each a little differently.
//!
//! Thinking has no place in the format: servers put it into one of three fields of their own, and want
//! it back in the same. Which one it was is what its `thinkingSignature` says.

use std::collections::HashMap;

use serde_json::json;
use yabby_domain::directive::level::ThinkLevel;
use yabby_domain::json::{self, Value};
use yabby_domain::message::{Block, Message};
use yabby_domain::seam::model::{Answer, ModelErrorKind, ModelRequest, Stop};
use yabby_domain::seam::tool::ToolSpec;
use yabby_domain::text;
use yabby_domain::usage::Usage;

use crate::failure::Failure;
use crate::settings::{Compat, MaxTokensField, ModelSettings, ThinkingBack, ThinkingStyle};
use crate::stored::{PICTURES, Piece, ToolResult, Turn, data_url, turns};
use crate::wire::{
    Asked, BEARER, Body, Conversation, Heard, Outgoing, Reader, count, described, effort, room, text_at, url,
};
use crate::writing::{CallPart, Part, Writing};

/// Where servers put thinking; the first that is there counts, as some fill two with the same.
const THINKING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

pub(crate) fn outgoing(asked: Asked<'_>) -> Outgoing {
    let Asked { settings, model, request } = asked;
    let compat = &model.compat;
    let mut body = json!({"model": model.id, "stream": true});
    body["messages"] = json!([]);
    if compat.usage_in_stream {
        body["stream_options"] = json!({"include_usage": true});
    }
    if compat.store {
        body["store"] = false.into();
    }
    let field = match compat.max_tokens {
        MaxTokensField::MaxTokens => "max_tokens",
        MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
    };
    body[field] = room(model, request).asked.into();
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(|spec| tool(spec)).collect();
    }
    if compat.prompt_cache_key && !request.session_id.is_empty() {
        body["prompt_cache_key"] = request.session_id.as_str().into();
    }
    if model.reasoning {
        think(&mut body, compat.thinking, request.thinking, effort(settings, model, request.thinking));
    }
    let url = url(settings, "chat/completions");
    let body = Body { fields: body, conversation: conversation(model, request) };
    Outgoing { url, headers: Vec::new(), key: BEARER, body }
}

fn think(body: &mut Value, style: ThinkingStyle, level: ThinkLevel, effort: &str) {
    let on = level != ThinkLevel::Off;
    match style {
        ThinkingStyle::EveryLevel if on => body["reasoning_effort"] = effort.into(),
        ThinkingStyle::Usual if on => {
            body["reasoning_effort"] = match level {
                ThinkLevel::Off | ThinkLevel::Minimal | ThinkLevel::Low => "low",
                ThinkLevel::Medium => "medium",
                ThinkLevel::High | ThinkLevel::Xhigh => "high",
            }
            .into();
        }
        ThinkingStyle::OpenRouter if on => body["reasoning"] = json!({"effort": effort}),
        ThinkingStyle::Zai => {
            body["thinking"] = json!({"type": if on { "enabled" } else { "disabled" }});
        }
        ThinkingStyle::Qwen => body["enable_thinking"] = on.into(),
        ThinkingStyle::Usual
        | ThinkingStyle::EveryLevel
        | ThinkingStyle::OpenRouter
        | ThinkingStyle::Adaptive
        | ThinkingStyle::Unasked => {}
    }
}

fn tool(spec: &ToolSpec) -> Value {
    let mut tool = json!({"type": "function"});
    tool["function"] = described(spec, "parameters");
    tool
}

fn conversation(model: &ModelSettings, request: &ModelRequest) -> Conversation {
    let compat = &model.compat;
    let Compat { thinking_back, tool_result_name, .. } = compat;
    let format = format!("chat {} {thinking_back:?} {tool_result_name}", model.images);
    let mut conversation =
        Conversation::new("messages", request, &format, |messages| items(messages, model.images, compat));
    if text::non_blank(&request.system).is_some() {
        let role = if compat.developer_role && model.reasoning { "developer" } else { "system" };
        conversation.opening.push(json!({"role": role, "content": request.system}));
    }
    if compat.cache_markers {
        let last = conversation.items.iter_mut().rfind(|message| text_at(message, "role") == "user");
        conversation.opening.iter_mut().chain(last).for_each(mark);
    }
    conversation
}

fn items(messages: &[Message], images: bool, compat: &Compat) -> Vec<Value> {
    let mut items = Vec::new();
    for turn in turns(messages, images) {
        match turn {
            Turn::User(pieces) => items.push(user(&pieces)),
            Turn::Answer(answer) => items.extend(answer_message(answer, compat)),
            Turn::Results(results) => {
                items.extend(results.iter().map(|result| result_message(result, compat)));
                let images: Vec<Piece<'_>> = results.iter().flat_map(ToolResult::images).collect();
                if !images.is_empty() {
                    items.push(user(&[&[Piece::Text(PICTURES)], images.as_slice()].concat()));
                }
            }
        }
    }
    items
}

fn user(pieces: &[Piece<'_>]) -> Value {
    let texts: Vec<&str> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Text(text) => Some(*text),
            Piece::Image { .. } => None,
        })
        .collect();
    // Lists are for pictures: not every server takes one where a text would do.
    let content: Value = match texts.len() == pieces.len() {
        true => texts.join("\n").into(),
        false => pieces.iter().map(part).collect(),
    };
    json!({"role": "user", "content": content})
}

fn part(piece: &Piece<'_>) -> Value {
    match piece {
        Piece::Text(text) => json!({"type": "text", "text": text}),
        Piece::Image { mime_type, data } => {
            json!({"type": "image_url", "image_url": {"url": data_url(mime_type, data)}})
        }
    }
}

fn result_message(result: &ToolResult<'_>, compat: &Compat) -> Value {
    let mut message = json!({"role": "tool", "tool_call_id": result.call, "content": result.text()});
    if compat.tool_result_name {
        message["name"] = result.tool.into();
    }
    message
}

/// `None` for an answer that says and does nothing.
fn answer_message(answer: &Message, compat: &Compat) -> Option<Value> {
    let (mut texts, mut thoughts, mut calls, mut details) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut field = None;
    let blocks = answer.to_blocks();
    for block in &blocks {
        match Block::of(block) {
            Block::Text(said) => texts.extend(text::non_blank(said).map(|_| said)),
            Block::Thinking { text: thought, signature } => {
                thoughts.extend(text::non_blank(thought).map(|_| thought));
                let known = THINKING_FIELDS.into_iter().find(|known| Some(*known) == signature);
                field = field.or(known);
            }
            Block::ToolCall(call) => {
                let arguments = call.arguments.map_or_else(|| "{}".to_owned(), json::stringify);
                calls.push(json!({"id": call.id?, "type": "function", "function": {"name": call.name?, "arguments": arguments}}));
                // What a router wants to see again of the thinking before a call.
                let detail = block.get("thoughtSignature").and_then(Value::as_str);
                details.extend(detail.and_then(|detail| json::parse(detail).ok()).filter(Value::is_object));
            }
            Block::Image | Block::Other => {}
        }
    }
    let thought = thoughts.join("\n");
    let thought = text::non_blank(&thought);
    if let (Some(thought), ThinkingBack::Text) = (thought, compat.thinking_back) {
        texts.insert(0, thought);
    }
    if texts.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = json!({"role": "assistant"});
    message["content"] = if texts.is_empty() { Value::Null } else { texts.join("\n").into() };
    if let (Some(thought), Some(field), ThinkingBack::Field) = (thought, field, compat.thinking_back) {
        message[field] = thought.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    if !details.is_empty() {
        message["reasoning_details"] = details.into();
    }
    Some(message)
}

/// Marks a message for Anthropic's cache behind a router.
fn mark(message: &mut Value) {
    let mut parts = match message["content"].take() {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(parts) => parts,
        _ => Vec::new(),
    };
    if let Some(part) = parts.iter_mut().rfind(|part| text_at(part, "type") == "text") {
        part["cache_control"] = json!({"type": "ephemeral"});
    }
    message["content"] = parts.into();
}

/// Reads the chunks of an answer.
#[derive(Default)]
pub(crate) struct Stream {
    writing: Writing,
    /// Where the provider's calls stand among ours.
    places: HashMap<u64, usize>,
    usage: Usage,
    stop: Option<Stop>,
    done: bool,
}

impl Reader for Stream {
    fn read(&mut self, event: &Value, heard: Heard<'_>) -> Result<(), Failure> {
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Failure::of_event(event));
        }
        let choice = event.get("choices").and_then(|choices| choices.get(0));
        let reports = [
            event.get("usage"),
            event.get("x_groq").and_then(|groq| groq.get("usage")),
            choice.and_then(|choice| choice.get("usage")),
        ];
        if let Some(usage) = reports.into_iter().flatten().find(|usage| usage.is_object()) {
            self.usage = usage_of(usage);
        }
        let Some(choice) = choice else { return Ok(()) };
        if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
            self.delta(delta, heard);
        }
        match text_at(choice, "finish_reason") {
            "" => {}
            "length" | "max_tokens" | "model_length" => self.stop = Some(Stop::Length),
            "tool_calls" | "function_call" => self.stop = Some(Stop::ToolUse),
            "content_filter" => return Err(Failure::new(ModelErrorKind::Refused, "")),
            "error" | "network_error" => return Err(Failure::cut_off()),
            _ => self.stop = Some(Stop::Done),
        }
        Ok(())
    }

    fn done(&mut self) {
        self.done = true;
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn finish(mut self: Box<Self>) -> Result<Answer, Failure> {
        // Some say how it ended, some that it ended; one of them has to.
        let stop = match (self.stop, self.done) {
            (Some(stop), _) => stop,
            (None, true) => Stop::Done,
            (None, false) => return Err(Failure::cut_off()),
        };
        for call in self.writing.calls_mut().filter(|call| call.id.is_empty()) {
            call.id = format!("call_{}", uuid::Uuid::new_v4().simple());
        }
        let stop = self.writing.stop(stop);
        Ok(Answer { blocks: self.writing.into_blocks(), stop, usage: self.usage, cli_session_id: None })
    }
}

impl Stream {
    fn delta(&mut self, delta: &Value, heard: Heard<'_>) {
        let thought = THINKING_FIELDS.into_iter().find(|field| !text_at(delta, field).is_empty());
        if let Some(field) = thought {
            self.writing.think(text_at(delta, field), heard);
            if let Some(Part::Thinking { signature, .. }) = self.writing.last_mut() {
                signature.get_or_insert_with(|| field.to_owned());
            }
        }
        let said = match delta.get("content") {
            Some(Value::String(text)) => text.clone(),
            // Mistral's models that think say it in parts.
            Some(Value::Array(parts)) => parts
                .iter()
                .filter(|part| text_at(part, "type") == "text")
                .map(|part| text_at(part, "text"))
                .collect(),
            _ => String::new(),
        };
        let refused = text_at(delta, "refusal");
        for said in [said.as_str(), refused].into_iter().filter(|said| !said.is_empty()) {
            self.writing.say(said, heard);
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (at, call) in calls.iter().enumerate() {
            self.call(at as u64, call, heard);
        }
        let details = delta.get("reasoning_details").and_then(Value::as_array).map(Vec::as_slice);
        for detail in details.unwrap_or_default() {
            let of = text_at(detail, "id");
            if text_at(detail, "type") == "reasoning.encrypted" && !text_at(detail, "data").is_empty() {
                let call = self.writing.calls_mut().find(|call| call.id == of);
                if let Some(call) = call {
                    call.signature = Some(json::stringify(detail));
                }
            }
        }
    }

    fn call(&mut self, at: u64, delta: &Value, heard: Heard<'_>) {
        let index = delta.get("index").and_then(Value::as_u64).unwrap_or(at);
        let function = delta.get("function").unwrap_or(&Value::Null);
        let (id, name) = (text_at(delta, "id"), text_at(function, "name"));
        let known = self.places.get(&index).copied().filter(|place| match self.writing.get_mut(*place) {
            // Some number every call as the first.
            Some(Part::Call(call)) => id.is_empty() || call.id.is_empty() || call.id == id,
            _ => false,
        });
        let place = match known {
            Some(place) => place,
            None => {
                let call = CallPart { id: id.to_owned(), name: name.to_owned(), ..CallPart::default() };
                let place = self.writing.begin(Part::Call(call), heard);
                self.places.insert(index, place);
                place
            }
        };
        if let Some(Part::Call(call)) = self.writing.get_mut(place) {
            if call.id.is_empty() {
                call.id = id.to_owned();
            }
            if call.name.is_empty() {
                call.name = name.to_owned();
            }
            // Not every server knows that they are text.
            if let Some(whole @ Value::Object(_)) = function.get("arguments") {
                call.arguments = json::stringify(whole);
            }
        }
        if let Some(Value::String(more)) = function.get("arguments") {
            self.writing.append(place, more, heard);
        }
    }
}

fn usage_of(report: &Value) -> Usage {
    let prompt = count(report, &["prompt_tokens"]);
    let details = |field| count(report, &["prompt_tokens_details", field]);
    let spellings = [
        details("cached_tokens"),
        count(report, &["prompt_cache_hit_tokens"]),
        count(report, &["cached_tokens"]),
    ];
    let read = spellings.into_iter().find(|count| *count > 0.0).unwrap_or(0.0).min(prompt);
    let written = details("cache_write_tokens").min(prompt - read);
    // Some leave thinking out of what was completed, but never out of the sum.
    let output = count(report, &["completion_tokens"]).max(count(report, &["total_tokens"]) - prompt);
    Usage {
        input: Some(prompt - read - written),
        output: Some(output),
        cache_read: Some(read),
        cache_write: Some(written),
        total: Some(prompt + output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_counts_each_token_once() {
        let table = [
            (
                json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
                "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 15}}),
                [40.0, 20.0, 60.0, 0.0, 120.0],
            ),
            // xAI: thinking is in the sum only.
            (
                json!({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 120,
                "completion_tokens_details": {"reasoning_tokens": 15}}),
                [100.0, 20.0, 0.0, 0.0, 120.0],
            ),
            // DeepSeek
            (
                json!({"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 64}),
                [36.0, 5.0, 64.0, 0.0, 105.0],
            ),
            // OpenRouter
            (
                json!({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105,
                "prompt_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 30}}),
                [60.0, 5.0, 10.0, 30.0, 105.0],
            ),
            (json!({}), [0.0; 5]),
        ];
        for (report, expected) in table {
            let usage = usage_of(&report);
            let found = [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.total];
            assert_eq!(found, expected.map(Some), "{report}");
        }
    }
}
