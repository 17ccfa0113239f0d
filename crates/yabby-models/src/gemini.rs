//! Google's Gemini, by `streamGenerateContent`.
//!
//! Parts may carry a thought signature, which goes back with the part it came with: `thoughtSignature`
//! of a call, `textSignature` of text, `thinkingSignature` of thinking.

use serde_json::json;
use yabby_domain::directive::level::ThinkLevel;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::message::{Block, Message};
use yabby_domain::seam::model::{Answer, ModelErrorKind, Stop};
use yabby_domain::seam::tool::ToolSpec;
use yabby_domain::text;
use yabby_domain::usage::Usage;

use crate::failure::Failure;
use crate::settings::ThinkingStyle;
use crate::stored::{PICTURES, Piece, ToolResult, Turn, turns};
use crate::wire::{Asked, Body, Conversation, Heard, Outgoing, Reader, count, described, room, text_at, url};
use crate::writing::{CallPart, Part, Writing};

pub(crate) fn outgoing(asked: Asked<'_>) -> Outgoing {
    let Asked { settings, model, request } = asked;
    let mut body = json!({"generationConfig": {"maxOutputTokens": room(model, request).asked}});
    body["contents"] = json!([]);
    if text::non_blank(&request.system).is_some() {
        body["systemInstruction"] = json!({"parts": [{"text": request.system}]});
    }
    if !request.tools.is_empty() {
        body["tools"] = json!([{}]);
        body["tools"][0]["functionDeclarations"] = request.tools.iter().map(|spec| tool(spec)).collect();
    }
    if model.reasoning
        && model.compat.thinking != ThinkingStyle::Unasked
        && let Some(config) = thinking(&model.id, request.thinking)
    {
        body["generationConfig"]["thinkingConfig"] = config;
    }
    let name = if model.id.contains('/') { model.id.clone() } else { format!("models/{}", model.id) };
    let url = url(settings, &format!("{name}:streamGenerateContent?alt=sse"));
    // From this generation on, results can hold pictures.
    let with_pictures = generation(&model.id) >= 3;
    let format = format!("gemini {} {with_pictures}", model.images);
    let conversation = Conversation::new("contents", request, &format, |messages| {
        contents(messages, model.images, with_pictures)
    });
    let body = Body { fields: body, conversation };
    Outgoing { url, headers: Vec::new(), key: ("x-goog-api-key", ""), body }
}

/// The generation of a model, by its name.
fn generation(model: &str) -> u32 {
    let rest = text::lower(model);
    let rest = rest.split("gemini-").nth(1).unwrap_or_default().to_owned();
    rest.bytes()
        .take_while(u8::is_ascii_digit)
        .fold(0, |sum: u32, digit| sum.saturating_mul(10).saturating_add(u32::from(digit - b'0')))
}

/// How much to think: a level from generation 3 on, a number of tokens before. `None` for what the
/// model does by itself.
fn thinking(model: &str, level: ThinkLevel) -> Option<Value> {
    let name = text::lower(model);
    let is_pro = name.contains("pro");
    if generation(&name) >= 3 {
        let word = match level {
            // It cannot be told not to.
            ThinkLevel::Off => return None,
            ThinkLevel::Minimal | ThinkLevel::Low if is_pro => "LOW",
            ThinkLevel::Medium | ThinkLevel::High | ThinkLevel::Xhigh if is_pro => "HIGH",
            ThinkLevel::Minimal => "MINIMAL",
            ThinkLevel::Low => "LOW",
            ThinkLevel::Medium => "MEDIUM",
            ThinkLevel::High | ThinkLevel::Xhigh => "HIGH",
        };
        return Some(json!({"includeThoughts": true, "thinkingLevel": word}));
    }
    let tokens = match level {
        ThinkLevel::Off if is_pro => return None,
        ThinkLevel::Off => return Some(json!({"thinkingBudget": 0})),
        // Less than 512 is too little for the smallest of them.
        ThinkLevel::Minimal => 512,
        ThinkLevel::Low => 2048,
        ThinkLevel::Medium => 8192,
        ThinkLevel::High | ThinkLevel::Xhigh if is_pro => 32_768,
        ThinkLevel::High | ThinkLevel::Xhigh => 24_576,
    };
    Some(json!({"includeThoughts": true, "thinkingBudget": tokens}))
}

fn tool(spec: &ToolSpec) -> Value {
    // `parameters` takes a dialect of its own; this takes JSON Schema.
    described(spec, "parametersJsonSchema")
}

fn contents(messages: &[Message], images: bool, with_pictures: bool) -> Vec<Value> {
    let mut contents = Vec::new();
    let mut push = |role: &str, parts: Vec<Value>| {
        if !parts.is_empty() {
            contents.push(json!({"role": role, "parts": parts}));
        }
    };
    for turn in turns(messages, images) {
        match turn {
            Turn::User(pieces) => push("user", pieces.iter().map(part).collect()),
            Turn::Answer(answer) => push("model", answer_parts(answer)),
            Turn::Results(results) => {
                push("user", results.iter().map(|result| response(result, with_pictures)).collect());
                let pictures: Vec<Piece<'_>> = results.iter().flat_map(ToolResult::images).collect();
                if !pictures.is_empty() && !with_pictures {
                    let pieces = [&[Piece::Text(PICTURES)], pictures.as_slice()].concat();
                    push("user", pieces.iter().map(part).collect());
                }
            }
        }
    }
    contents
}

fn part(piece: &Piece<'_>) -> Value {
    match piece {
        Piece::Text(text) => json!({"text": text}),
        Piece::Image { mime_type, data } => json!({"inlineData": {"mimeType": mime_type, "data": data}}),
    }
}

fn response(result: &ToolResult<'_>, with_pictures: bool) -> Value {
    let field = if result.is_error { "error" } else { "output" };
    let mut response = json!({"id": result.call, "name": result.tool, "response": {field: result.text()}});
    let pictures: Vec<Value> = result.images().map(|picture| part(&picture)).collect();
    if with_pictures && !pictures.is_empty() {
        response["parts"] = pictures.into();
    }
    json!({"functionResponse": response})
}

fn answer_parts(answer: &Message) -> Vec<Value> {
    answer.to_blocks().iter().filter_map(answer_part).collect()
}

fn answer_part(block: &Value) -> Option<Value> {
    let (mut part, signature) = match Block::of(block) {
        Block::Text(said) => {
            text::non_blank(said)?;
            (json!({"text": said}), "textSignature")
        }
        Block::Thinking { text: thought, .. } => {
            text::non_blank(thought)?;
            (json!({"thought": true, "text": thought}), "thinkingSignature")
        }
        Block::ToolCall(call) => {
            let arguments = call.arguments.cloned().unwrap_or_else(|| Value::Object(Object::new()));
            let call = json!({"id": call.id?, "name": call.name?, "args": arguments});
            (json!({"functionCall": call}), "thoughtSignature")
        }
        Block::Image | Block::Other => return None,
    };
    if let Some(signature) = block.get(signature).and_then(Value::as_str).filter(|text| !text.is_empty()) {
        part["thoughtSignature"] = signature.into();
    }
    Some(part)
}

/// Reads the chunks of an answer.
#[derive(Default)]
pub(crate) struct Stream {
    writing: Writing,
    usage: Usage,
    stop: Option<Stop>,
}

impl Reader for Stream {
    fn read(&mut self, event: &Value, heard: Heard<'_>) -> Result<(), Failure> {
        if event.get("error").is_some_and(|error| !error.is_null()) || event.is_array() {
            return Err(Failure::of_event(event));
        }
        if let Some(usage) = event.get("usageMetadata") {
            self.usage = usage_of(usage);
        }
        let blocked = event.get("promptFeedback").map(|feedback| text_at(feedback, "blockReason"));
        if let Some(why) = blocked.filter(|why| !why.is_empty()) {
            return Err(Failure::new(ModelErrorKind::Refused, why));
        }
        let Some(candidate) = event.get("candidates").and_then(|candidates| candidates.get(0)) else {
            return Ok(());
        };
        let parts = candidate.get("content").and_then(|content| content.get("parts")?.as_array());
        for part in parts.map(Vec::as_slice).unwrap_or_default() {
            self.part(part, heard);
        }
        match text_at(candidate, "finishReason") {
            "" | "FINISH_REASON_UNSPECIFIED" => {}
            "STOP" => self.stop = Some(Stop::Done),
            "MAX_TOKENS" => self.stop = Some(Stop::Length),
            why @ ("MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "OTHER"
            | "MISSING_THOUGHT_SIGNATURE"
            | "MALFORMED_RESPONSE") => {
                return Err(Failure::new(ModelErrorKind::Broken, why));
            }
            // Safety, recitation, a list of words: whatever it is, it will not be said.
            why => return Err(Failure::new(ModelErrorKind::Refused, why)),
        }
        Ok(())
    }

    /// The usage may come behind the reason, so only the end of the stream is the end.
    fn is_complete(&self) -> bool {
        false
    }

    fn finish(self: Box<Self>) -> Result<Answer, Failure> {
        let Some(stop) = self.stop else { return Err(Failure::cut_off()) };
        let stop = self.writing.stop(stop);
        Ok(Answer { blocks: self.writing.into_blocks(), stop, usage: self.usage, cli_session_id: None })
    }
}

impl Stream {
    fn part(&mut self, part: &Value, heard: Heard<'_>) {
        let signed = part.get("thoughtSignature").and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(call) = part.get("functionCall") {
            let id = match text_at(call, "id") {
                "" => format!("call_{}", uuid::Uuid::new_v4().simple()),
                id => id.to_owned(),
            };
            let call = CallPart {
                id,
                name: text_at(call, "name").to_owned(),
                arguments: call.get("args").map(json::stringify).unwrap_or_default(),
                signature: signed.map(str::to_owned),
            };
            self.writing.begin(Part::Call(call), heard);
            return;
        }
        let Some(words) = part.get("text").and_then(Value::as_str) else { return };
        // A signature may come alone, behind what it signs.
        if !words.is_empty() {
            match part.get("thought") {
                Some(Value::Bool(true)) => self.writing.think(words, heard),
                _ => self.writing.say(words, heard),
            }
        }
        if let Some(Part::Text { signature, .. } | Part::Thinking { signature, .. }) = self.writing.last_mut()
            && let Some(signed) = signed
        {
            *signature = Some(signed.to_owned());
        }
    }
}

fn usage_of(report: &Value) -> Usage {
    let read = count(report, &["cachedContentTokenCount"]);
    let prompt = count(report, &["promptTokenCount"]) + count(report, &["toolUsePromptTokenCount"]);
    let output = count(report, &["candidatesTokenCount"]) + count(report, &["thoughtsTokenCount"]);
    Usage {
        input: Some((prompt - read).max(0.0)),
        output: Some(output),
        cache_read: Some(read),
        cache_write: Some(0.0),
        total: Some(prompt.max(read) + output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_generation_is_told_in_its_own_way_how_much_to_think() {
        let table = [
            ("gemini-2.5-flash", ThinkLevel::Off, Some(json!({"thinkingBudget": 0}))),
            ("gemini-2.5-pro", ThinkLevel::Off, None),
            (
                "gemini-2.5-pro",
                ThinkLevel::High,
                Some(json!({"includeThoughts": true, "thinkingBudget": 32_768})),
            ),
            (
                "gemini-3-pro-preview",
                ThinkLevel::Medium,
                Some(json!({"includeThoughts": true, "thinkingLevel": "HIGH"})),
            ),
            (
                "gemini-3-flash-preview",
                ThinkLevel::Minimal,
                Some(json!({"includeThoughts": true, "thinkingLevel": "MINIMAL"})),
            ),
            ("gemini-3-pro-preview", ThinkLevel::Off, None),
        ];
        for (model, level, expected) in table {
            assert_eq!(thinking(model, level), expected, "{model} {level:?}");
        }
    }
}
