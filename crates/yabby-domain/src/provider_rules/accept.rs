//! Turning any messages into ones that a provider accepts (`transcripts.md` §8, §9).

use std::collections::{HashMap, HashSet, VecDeque};

use jiff::Timestamp;

use super::{BLOCK_SIGNATURES, ProviderFamily, Recipient, UNSIGNED_CALL, formats};
use crate::json::{self, Object, Value};
use crate::message::{Content, Message, Role, text_block};
use crate::repair::ids::{self, IdForm};
use crate::repair::pairing::missing_result;
use crate::repair::{self, turns};
use crate::sanitize::BOOTSTRAP_TEXT;
use crate::text;
use crate::transcript::context::for_model;

const IMAGE_NOTE: &str = "[image left out: not a picture that the model can be shown]";
const OLD_IMAGE_NOTE: &str = "[image left out: newer ones fill the request]";
const NO_OUTPUT: &str = "(no output)";
const CONTINUE: &str = "(continue)";
const RESULTS_SEEN: &str = "(tool results received)";

/// The messages of a request, history and prompt, in a form that `recipient` accepts.
///
/// Messages that already are acceptable come back as they are. Answers that failed or were aborted are
/// left out, as they may stop in the middle of anything; what else cannot be sent is changed as little
/// as possible.
pub fn make_acceptable(messages: Vec<Message>, recipient: &Recipient<'_>) -> Vec<Message> {
    let seen = for_model(messages);
    let cleaner = Cleaner { recipient, max_side: formats::max_side(count_images(&seen)) };
    let clean = seen.into_iter().filter_map(|message| cleaner.message(message)).collect();
    in_order(with_newest_images(paired(clean, recipient), recipient), recipient)
}

/// Leaves out the oldest images of a request that holds too many.
fn with_newest_images(mut messages: Vec<Message>, recipient: &Recipient<'_>) -> Vec<Message> {
    let mut budget = formats::ImageBudget::of(recipient.family);
    for message in messages.iter_mut().rev() {
        for block in message.blocks_mut().iter_mut().rev() {
            if kind(block) == "image" && !budget.spend(block) {
                *block = text_block(OLD_IMAGE_NOTE);
            }
        }
    }
    messages
}

fn count_images(messages: &[Message]) -> usize {
    let blocks = messages.iter().flat_map(|message| message.blocks());
    blocks.filter(|block| kind(block) == "image").count()
}

/// A message with acceptable content.
struct Clean {
    message: Message,
    /// Whether thinking of this answer could not stay thinking.
    lost_thinking: bool,
}

struct Cleaner<'c> {
    recipient: &'c Recipient<'c>,
    max_side: u32,
}

impl Cleaner<'_> {
    fn message(&self, mut message: Message) -> Option<Clean> {
        let mut lost_thinking = false;
        match message.role() {
            Role::User => {
                if let Content::Text(text) = message.content() {
                    let whole = sendable_text(text)?;
                    message.set("content", whole);
                } else {
                    set_blocks(&mut message, |blocks| self.shown_blocks(blocks))?;
                }
            }
            Role::ToolResult => {
                if set_blocks(&mut message, |blocks| self.shown_blocks(blocks)).is_none() {
                    message.set("content", vec![text_block(NO_OUTPUT)]);
                }
            }
            Role::Assistant => {
                if matches!(message.stop_reason(), Some("error" | "aborted")) {
                    return None;
                }
                let wrote = self.recipient.wrote(&message);
                set_blocks(&mut message, |blocks| {
                    let (blocks, lost) = self.answer_blocks(blocks, wrote);
                    lost_thinking = lost;
                    blocks
                })?;
            }
            _ => return None,
        }
        Some(Clean { message, lost_thinking })
    }

    /// The text and images of a user message or a tool result.
    fn shown_blocks(&self, blocks: Vec<Value>) -> Vec<Value> {
        let shown = |block: Value| match kind(&block) {
            "text" => sendable_block(block),
            "image" if formats::is_image(&block, self.max_side, self.recipient.family) => Some(block),
            "image" => Some(text_block(IMAGE_NOTE)),
            _ => None,
        };
        blocks.into_iter().filter_map(shown).collect()
    }

    /// The blocks of an answer, and whether thinking was lost.
    fn answer_blocks(&self, blocks: Vec<Value>, wrote: bool) -> (Vec<Value>, bool) {
        let cleaned = |block: Value| match kind(&block) {
            "text" => sendable_block(block).map(|block| self.with_signatures(block, wrote)),
            "thinking" | "redacted_thinking" => Some(block),
            "image" => Some(text_block(IMAGE_NOTE)),
            _ if repair::is_call(&block) => self.call(&block).map(|call| self.with_signatures(call, wrote)),
            _ => None,
        };
        let mut cleaned: Vec<Value> = blocks.into_iter().filter_map(cleaned).collect();
        let had_thinking = cleaned.iter().any(is_thinking);
        cleaned
            .retain(|block| !is_thinking(block) || self.may_stay(block, wrote) || thought(block).is_some());
        let stays = self.thinking_stays(&cleaned, wrote);
        if !stays {
            cleaned = said_aloud(cleaned);
        }
        if had_thinking && !stays && self.recipient.family == ProviderFamily::OpenAiResponses {
            // The id of a part that thinking led to is void without it.
            for block in cleaned.iter_mut().filter_map(Value::as_object_mut) {
                block.shift_remove("textSignature");
            }
        }
        self.sign_first_call(&mut cleaned);
        (cleaned, had_thinking && !stays)
    }

    /// Whether all thinking of an answer can be sent back: its blocks belong together.
    fn thinking_stays(&self, blocks: &[Value], wrote: bool) -> bool {
        let well_placed = !blocks.last().is_some_and(is_thinking)
            && (self.recipient.family != ProviderFamily::Anthropic
                || blocks.first().is_some_and(is_thinking));
        let mut thinking = blocks.iter().filter(|block| is_thinking(block)).peekable();
        thinking.peek().is_none() || (well_placed && thinking.all(|block| self.may_stay(block, wrote)))
    }

    /// Whether the provider takes this block of thinking back, in the right place.
    fn may_stay(&self, block: &Value, wrote: bool) -> bool {
        let text = block.get("thinking").and_then(Value::as_str).unwrap_or_default();
        wrote && without_halves(text) == text && formats::is_own_thinking(block, self.recipient.family)
    }

    /// The block without signatures that mean nothing to the recipient.
    fn with_signatures(&self, mut block: Value, wrote: bool) -> Value {
        if let Some(block) = block.as_object_mut() {
            for field in BLOCK_SIGNATURES {
                let is_void =
                    |signature: &Value| !formats::is_own_signature(signature, wrote, self.recipient.family);
                if block.get(field).is_some_and(is_void) {
                    block.shift_remove(field);
                }
            }
        }
        block
    }

    fn sign_first_call(&self, blocks: &mut [Value]) {
        if !self.recipient.wants_signed_calls() {
            return;
        }
        let call = blocks.iter_mut().find(|block| repair::is_call(block));
        if let Some(call) = call.filter(|call| !call.get("thoughtSignature").is_some_and(Value::is_string)) {
            call["thoughtSignature"] = UNSIGNED_CALL.into();
        }
    }

    /// A call in our spelling, with a name and arguments that providers take; `None` if it has no input.
    fn call(&self, block: &Value) -> Option<Value> {
        let inputs = ["arguments", "input"].into_iter().filter_map(|field| block.get(field));
        let input = inputs.into_iter().find(|input| !input.is_null())?;
        let mut call = block.as_object()?.clone();
        call.shift_remove("input");
        let mut set = |field: &str, value: Value| {
            if call.get(field) != Some(&value) {
                call.insert(field.to_owned(), value);
            }
        };
        set("type", "toolCall".into());
        set("name", self.tool_name(block.get("name").and_then(Value::as_str).unwrap_or_default()).into());
        set("arguments", Value::Object(arguments(input)));
        Some(Value::Object(call))
    }

    fn tool_name(&self, name: &str) -> String {
        let family = self.recipient.family;
        if formats::is_tool_name(name, family) {
            return name.to_owned();
        }
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let mut cleaned: String = name.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
        if cleaned.is_empty() {
            return "unknown".to_owned();
        }
        if family == ProviderFamily::Gemini && !cleaned.starts_with(|c: char| c.is_ascii_alphabetic()) {
            cleaned.insert(0, '_');
        }
        cleaned.truncate(64);
        cleaned
    }
}

fn kind(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn is_thinking(block: &Value) -> bool {
    matches!(kind(block), "thinking" | "redacted_thinking")
}

/// The words of a block of thinking, if it has any.
fn thought(block: &Value) -> Option<String> {
    sendable_text(block.get("thinking")?.as_str()?)
}

/// Thinking that cannot stay thinking becomes text: it led to what follows.
fn said_aloud(blocks: Vec<Value>) -> Vec<Value> {
    let said = |block: Value| match is_thinking(&block) {
        true => thought(&block).map(|text| text_block(&text)),
        false => Some(block),
    };
    blocks.into_iter().filter_map(said).collect()
}

/// Puts rewritten blocks in place; `None` if none are left.
fn set_blocks(message: &mut Message, rewrite: impl FnOnce(Vec<Value>) -> Vec<Value>) -> Option<()> {
    let blocks = rewrite(message.take_blocks());
    (!blocks.is_empty()).then(|| message.set("content", blocks))
}

/// A text block with sendable text.
fn sendable_block(mut block: Value) -> Option<Value> {
    let text = block.get("text")?.as_str()?;
    if text::has_stand_ins(text) {
        block["text"] = sendable_text(text)?.into();
        return Some(block);
    }
    text::non_blank(text).is_some().then_some(block)
}

/// The text in whole characters, unless it is blank.
fn sendable_text(text: &str) -> Option<String> {
    let whole = without_halves(text);
    text::non_blank(&whole).is_some().then_some(whole)
}

/// The text without halves of surrogate pairs.
fn without_halves(text: &str) -> String {
    if !text::has_stand_ins(text) {
        return text.to_owned();
    }
    let whole: Vec<u16> = char::decode_utf16(text::to_units(text))
        .filter_map(Result::ok)
        .flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec())
        .collect();
    text::from_units(&whole)
}

/// The input of a call as an object.
fn arguments(input: &Value) -> Object {
    let parsed = input.as_str().and_then(|text| json::parse(text).ok());
    match whole_json(parsed.as_ref().filter(|parsed| parsed.is_object()).unwrap_or(input)) {
        Value::Object(object) => object,
        other => Object::from_iter([("input".to_owned(), other)]),
    }
}

fn whole_json(value: &Value) -> Value {
    match value {
        Value::String(text) => without_halves(text).into(),
        Value::Array(items) => items.iter().map(whole_json).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| (without_halves(key), whole_json(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Puts exactly one result behind each call, under an id of its own that the provider takes.
fn paired(messages: Vec<Clean>, recipient: &Recipient<'_>) -> Vec<Message> {
    let mut ids = CallIds { family: recipient.family, used: HashSet::new() };
    let mut out = Vec::with_capacity(messages.len());
    let mut rest = messages.into_iter().peekable();
    while let Some(Clean { mut message, lost_thinking }) = rest.next() {
        let has_calls = message.role() == Role::Assistant && message.blocks().iter().any(repair::is_call);
        if !has_calls {
            if message.role() != Role::ToolResult {
                out.push(message);
            }
            continue;
        }
        let mut results: HashMap<String, VecDeque<Message>> = HashMap::new();
        let mut others = Vec::new();
        while let Some(next) = rest.next_if(|next| next.message.role() != Role::Assistant) {
            match (next.message.role(), repair::answered_id(&next.message)) {
                (Role::ToolResult, Some(id)) => {
                    let id = id.to_owned();
                    results.entry(id).or_default().push_back(next.message);
                }
                (Role::ToolResult, None) => {}
                _ => others.push(next.message),
            }
        }
        // An item id names a part of the answer that thinking went before; without it, it is void.
        let keeps_items = recipient.wrote(&message) && !lost_thinking;
        let time = message.get("timestamp").cloned();
        let mut answers = Vec::new();
        for call in message.blocks_mut().iter_mut().filter(|block| repair::is_call(block)) {
            let old = call.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
            let new = ids.assign(&old, keeps_items);
            let tool = call["name"].as_str().unwrap_or_default().to_owned();
            let result = results.get_mut(&old).and_then(VecDeque::pop_front);
            answers.push(answer_to(&new, &tool, result, time.as_ref()));
            call["id"] = new.into();
        }
        out.push(message);
        out.extend(answers);
        out.extend(others);
    }
    out
}

/// The result of a call under its new id, made up if there is none.
fn answer_to(id: &str, tool: &str, result: Option<Message>, time: Option<&Value>) -> Message {
    let mut result = result.unwrap_or_else(|| {
        let mut missing = missing_result(id, Some(tool), Timestamp::UNIX_EPOCH);
        missing.as_object_mut().shift_remove("timestamp");
        if let Some(time) = time {
            missing.set("timestamp", time.clone());
        }
        missing
    });
    result.as_object_mut().shift_remove("toolUseId");
    result.set("toolCallId", id);
    result.set("toolName", tool);
    result
}

/// Hands out call ids, each only once.
struct CallIds {
    family: ProviderFamily,
    used: HashSet<String>,
}

impl CallIds {
    fn assign(&mut self, id: &str, keeps_item: bool) -> String {
        let call = id.split_once('|').map_or(id, |(call, _)| call);
        let id = if self.family == ProviderFamily::OpenAiResponses && !keeps_item { call } else { id };
        let form = if self.family == ProviderFamily::Mistral { IdForm::Strict9 } else { IdForm::Strict };
        let is_fine = formats::is_call_id(id, self.family) && !self.used.contains(id);
        let new = if is_fine { id.to_owned() } else { ids::unique_id(id, form, &self.used) };
        self.used.insert(new.clone());
        new
    }
}

/// Makes the sides take turns where the provider wants that.
fn in_order(messages: Vec<Message>, recipient: &Recipient<'_>) -> Vec<Message> {
    if messages.is_empty() {
        return vec![said("user", Value::from(BOOTSTRAP_TEXT), None)];
    }
    if !recipient.family.alternates() {
        return messages;
    }
    let mut messages = turns::join_user_turns(join_answers(messages, recipient));
    if messages.first().is_some_and(|first| first.role() != Role::User) {
        let bootstrap = said("user", Value::from(BOOTSTRAP_TEXT), messages.first());
        messages.insert(0, bootstrap);
    }
    if let Some(last) = messages.last().filter(|last| last.role() == Role::Assistant) {
        let prompt = said("user", Value::from(CONTINUE), Some(last));
        messages.push(prompt);
    }
    if recipient.family == ProviderFamily::Mistral {
        messages = with_answers_to_results(messages);
    }
    messages
}

/// A short message of ours, as old as its neighbour.
fn said(role: &str, content: Value, neighbour: Option<&Message>) -> Message {
    let mut message = Message::new(Object::new());
    message.set("role", role);
    message.set("content", content);
    if let Some(time) = neighbour.and_then(|neighbour| neighbour.get("timestamp")) {
        message.set("timestamp", time.clone());
    }
    message
}

/// Joins consecutive answers. Thinking of a later one would stand in the middle: it is said aloud.
fn join_answers(messages: Vec<Message>, recipient: &Recipient<'_>) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        let joins = |last: &mut Message| last.role() == Role::Assistant && message.role() == Role::Assistant;
        let Some(earlier) = out.pop_if(joins) else {
            out.push(message);
            continue;
        };
        let blocks = [earlier.blocks().to_vec(), said_aloud(message.blocks().to_vec())].concat();
        // Signatures count only in an answer of the recipient's own, so that is what it stays.
        let keeps_later = recipient.wrote(&message) && !recipient.wrote(&earlier);
        let mut joined = if keeps_later { message } else { earlier };
        joined.set("content", blocks);
        out.push(joined);
    }
    out
}

/// Puts a short answer between tool results and a user message.
fn with_answers_to_results(messages: Vec<Message>) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        let last = out.last().filter(|last| last.role() == Role::ToolResult && message.role() == Role::User);
        if let Some(last) = last {
            let answer = said("assistant", vec![text_block(RESULTS_SEEN)].into(), Some(last));
            out.push(answer);
        }
        out.push(message);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::violations;
    use super::*;
    use crate::sanitize::policy::ModelTarget;
    use serde_json::json;

    const CLAUDE: ModelTarget<'_> =
        ModelTarget { api: Some("anthropic-messages"), provider: Some("anthropic"), model: Some("claude") };
    const MISTRAL: ModelTarget<'_> =
        ModelTarget { api: Some("openai-completions"), provider: Some("mistral"), model: Some("large") };
    const GPT: ModelTarget<'_> =
        ModelTarget { api: Some("openai-responses"), provider: Some("openai"), model: Some("gpt-5") };

    fn accepted(list: Value, target: ModelTarget<'_>) -> Value {
        let messages = list.as_array().unwrap().iter().cloned().filter_map(Message::from_value).collect();
        let recipient = Recipient::of(target);
        let accepted = make_acceptable(messages, &recipient);
        assert_eq!(violations(&accepted, &recipient), [], "{list}");
        accepted.into_iter().map(Message::into_value).collect()
    }

    #[test]
    fn a_run_that_crashed_between_call_and_result_can_go_on() {
        let crashed = json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "timestamp": 7, "content": [{"type": "toolCall", "id": "a|b", "name": "my tool", "arguments": {}}]},
        ]);
        let result = |id: &str| {
            let time = Timestamp::from_millisecond(7).unwrap();
            missing_result(id, Some("my_tool"), time).into_value()
        };
        assert_eq!(accepted(crashed.clone(), CLAUDE)[2], result("ab"));
        assert_eq!(accepted(crashed.clone(), GPT)[2], result("a"));
        assert_eq!(accepted(crashed, MISTRAL)[2], result("da23614e0"));
    }

    #[test]
    fn an_aborted_answer_goes_together_with_its_results() {
        let list = json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "stopReason": "aborted", "content": [{"type": "toolCall", "id": "a", "name": "x", "arguments": {}}]},
            {"role": "toolResult", "toolCallId": "a", "toolName": "x", "content": []},
            {"role": "user", "content": "again"},
        ]);
        let joined = json!([{"role": "user", "content": [{"type": "text", "text": "go"}, {"type": "text", "text": "again"}]}]);
        assert_eq!(accepted(list, CLAUDE), joined);
    }

    #[test]
    fn thinking_of_another_model_is_told_as_text() {
        let list = json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "api": "openai-responses", "provider": "openai", "model": "gpt-5", "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "{\"id\":\"rs_1\",\"type\":\"reasoning\"}"},
                {"type": "text", "text": "so", "textSignature": "msg_1"},
            ]},
            {"role": "user", "content": "go on"},
        ]);
        let told = json!([{"type": "text", "text": "hm"}, {"type": "text", "text": "so"}]);
        assert_eq!(accepted(list.clone(), CLAUDE)[1]["content"], told);
        assert_eq!(accepted(list.clone(), GPT), list);
    }

    #[test]
    fn a_part_without_the_thinking_that_led_to_it_has_no_id() {
        let list = json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "api": "openai-responses", "provider": "openai", "model": "gpt-5", "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "so", "textSignature": "msg_1"},
                {"type": "toolCall", "id": "call_1|fc_1", "name": "x", "arguments": {}},
            ]},
        ]);
        let answer = accepted(list, GPT)[1]["content"].clone();
        assert_eq!(answer[1], json!({"type": "text", "text": "so"}));
        assert_eq!(answer[2]["id"], "call_1");
    }

    #[test]
    fn a_request_shows_the_newest_images() {
        let gif = json!({"type": "image", "mimeType": "image/gif",
            "data": "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"});
        let shown = |images: usize, target| {
            let list = json!([{"role": "user", "content": vec![gif.clone(); images]}]);
            let content = accepted(list, target)[0]["content"].clone();
            let kinds = content.as_array().unwrap().iter().map(|block| block["type"] == "image");
            kinds.collect::<Vec<_>>()
        };
        assert_eq!(shown(9, MISTRAL), [[false].as_slice(), &[true; 8]].concat());
        assert_eq!(shown(9, CLAUDE), [true; 9]);
    }

    #[test]
    fn an_id_used_twice_becomes_two_ids() {
        let call = json!({"role": "assistant", "content": [{"type": "toolCall", "id": "a", "name": "x", "arguments": {}}]});
        let result = |text: &str| json!({"role": "toolResult", "toolCallId": "a", "toolName": "x", "content": [{"type": "text", "text": text}]});
        let list = json!([{"role": "user", "content": "go"}, call, result("1"), call, result("2")]);
        let after = accepted(list, CLAUDE);
        assert_eq!(after[4]["content"][0]["text"], "2");
        assert_ne!(after[2]["toolCallId"], after[4]["toolCallId"]);
    }

    #[test]
    fn the_user_begins_and_ends_where_sides_alternate() {
        let list = json!([{"role": "assistant", "content": "hi"}]);
        let after = accepted(list, MISTRAL);
        assert_eq!(after[0]["content"], BOOTSTRAP_TEXT);
        assert_eq!(after[2]["content"], CONTINUE);
        assert_eq!(accepted(json!([]), GPT)[0]["content"], BOOTSTRAP_TEXT);
    }
}
