//! The rules of the providers, stated message by message (`transcripts.md` §8).

use std::collections::HashSet;

use super::{BLOCK_SIGNATURES, ProviderFamily, Recipient, formats};
use crate::json::{self, Value};
use crate::message::{Content, Message, Role};
use crate::text;

/// A rule that a provider would reject a request for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    NoMessages,
    UnknownRole,
    EmptyContent,
    BlankText,
    HalfACharacter,
    WrongBlock,
    BadImage,
    TooManyImages,
    BadCallId,
    RepeatedCallId,
    BadToolName,
    BadArguments,
    CallWithoutResult,
    ResultWithoutCall,
    ResultOfOtherTool,
    ForeignThinking,
    MisplacedThinking,
    ForeignSignature,
    UnsignedCall,
    FirstIsNoUser,
    LastIsAnAnswer,
    SameSideTwice,
    UserAfterResult,
}

/// A message that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    pub at: usize,
    pub rule: Rule,
}

/// Everything in `messages` that `recipient` would reject.
pub fn violations(messages: &[Message], recipient: &Recipient<'_>) -> Vec<Violation> {
    let mut check = Check { recipient, at: 0, found: Vec::new() };
    if messages.is_empty() {
        check.broken(Rule::NoMessages);
    }
    let blocks = || messages.iter().flat_map(|message| message.blocks());
    let images = blocks().filter(|block| kind(block) == "image").count();
    for (at, message) in messages.iter().enumerate() {
        check.at = at;
        check.content(message, formats::max_side(images));
    }
    check.images(messages);
    check.pairs(messages);
    check.order(messages);
    check.found
}

struct Check<'c> {
    recipient: &'c Recipient<'c>,
    at: usize,
    found: Vec<Violation>,
}

fn kind(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}

impl Check<'_> {
    fn broken(&mut self, rule: Rule) {
        self.found.push(Violation { at: self.at, rule });
    }

    fn require(&mut self, holds: bool, rule: Rule) {
        if !holds {
            self.broken(rule);
        }
    }

    fn content(&mut self, message: &Message, max_side: u32) {
        let role = message.role();
        self.require(matches!(role, Role::User | Role::Assistant | Role::ToolResult), Rule::UnknownRole);
        let blocks = match message.content() {
            Content::Text(text) if role == Role::User => return self.text(text),
            Content::Blocks(blocks) if !blocks.is_empty() => blocks,
            _ => return self.broken(Rule::EmptyContent),
        };
        for block in blocks {
            match (kind(block), role) {
                ("text", _) => self.text(block.get("text").and_then(Value::as_str).unwrap_or_default()),
                ("image", Role::User | Role::ToolResult) => {
                    let family = self.recipient.family;
                    self.require(formats::is_image(block, max_side, family), Rule::BadImage);
                }
                ("toolCall", Role::Assistant) => self.call(block),
                ("thinking" | "redacted_thinking", Role::Assistant) => self.thinking(block, message),
                _ => self.broken(Rule::WrongBlock),
            }
        }
        if role == Role::Assistant {
            self.answer(blocks, message);
        }
    }

    fn text(&mut self, text: &str) {
        self.require(text::non_blank(text).is_some(), Rule::BlankText);
        self.require(is_whole(text), Rule::HalfACharacter);
    }

    fn call(&mut self, block: &Value) {
        let family = self.recipient.family;
        let field = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        self.require(formats::is_call_id(field("id"), family), Rule::BadCallId);
        self.require(formats::is_tool_name(field("name"), family), Rule::BadToolName);
        match block.get("arguments") {
            Some(arguments @ Value::Object(_)) => {
                // The JSON text would spell half a character as an escape.
                self.require(is_whole_json(arguments), Rule::HalfACharacter);
            }
            _ => self.broken(Rule::BadArguments),
        }
    }

    fn thinking(&mut self, block: &Value, message: &Message) {
        let is_own = self.recipient.wrote(message) && formats::is_own_thinking(block, self.recipient.family);
        self.require(is_own, Rule::ForeignThinking);
        let text = block.get("thinking").and_then(Value::as_str).unwrap_or_default();
        self.require(is_whole(text), Rule::HalfACharacter);
    }

    /// What holds for the blocks of an answer together.
    fn answer(&mut self, blocks: &[Value], message: &Message) {
        let is_thinking = |block: &Value| matches!(kind(block), "thinking" | "redacted_thinking");
        let first = blocks.first().is_some_and(is_thinking);
        let last = blocks.last().is_some_and(is_thinking);
        self.require(!last, Rule::MisplacedThinking);
        if self.recipient.family == ProviderFamily::Anthropic && blocks.iter().any(is_thinking) {
            self.require(first, Rule::MisplacedThinking);
        }
        for block in blocks.iter().filter(|block| !is_thinking(block)) {
            for signature in BLOCK_SIGNATURES.iter().filter_map(|field| block.get(field)) {
                let own = self.recipient.wrote(message);
                let trusted = formats::is_own_signature(signature, own, self.recipient.family);
                self.require(trusted, Rule::ForeignSignature);
            }
        }
        let first_call = blocks.iter().find(|block| kind(block) == "toolCall");
        if let Some(call) = first_call.filter(|_| self.recipient.wants_signed_calls()) {
            self.require(call.get("thoughtSignature").is_some_and(Value::is_string), Rule::UnsignedCall);
        }
    }

    fn images(&mut self, messages: &[Message]) {
        let mut budget = formats::ImageBudget::of(self.recipient.family);
        for (at, message) in messages.iter().enumerate().rev() {
            self.at = at;
            for image in message.blocks().iter().rev().filter(|block| kind(block) == "image") {
                self.require(budget.spend(image), Rule::TooManyImages);
            }
        }
    }

    fn pairs(&mut self, messages: &[Message]) {
        let mut seen = HashSet::new();
        let mut open: Vec<(&str, &str)> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            self.at = at;
            if message.role() == Role::ToolResult {
                let id = message.text_field("toolCallId");
                match open.iter().position(|(call, _)| Some(*call) == id) {
                    None => self.broken(Rule::ResultWithoutCall),
                    Some(found) => {
                        let (_, tool) = open.remove(found);
                        self.require(message.text_field("toolName") == Some(tool), Rule::ResultOfOtherTool);
                    }
                }
                continue;
            }
            self.require(open.is_empty(), Rule::CallWithoutResult);
            open.clear();
            if message.role() == Role::Assistant {
                for call in message.blocks().iter().filter(|block| kind(block) == "toolCall") {
                    let field = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
                    self.require(seen.insert(field("id")), Rule::RepeatedCallId);
                    open.push((field("id"), field("name")));
                }
            }
        }
        self.require(open.is_empty(), Rule::CallWithoutResult);
    }

    fn order(&mut self, messages: &[Message]) {
        if !self.recipient.family.alternates() {
            return;
        }
        self.at = 0;
        self.require(messages.first().is_none_or(|first| first.role() == Role::User), Rule::FirstIsNoUser);
        for (at, pair) in messages.windows(2).enumerate() {
            self.at = at + 1;
            let roles = (pair[0].role(), pair[1].role());
            let same_side = matches!(roles, (Role::User, Role::User) | (Role::Assistant, Role::Assistant));
            self.require(!same_side, Rule::SameSideTwice);
            let unanswered = roles == (Role::ToolResult, Role::User);
            self.require(
                !(unanswered && self.recipient.family == ProviderFamily::Mistral),
                Rule::UserAfterResult,
            );
        }
        let last = messages.last().map(Message::role);
        self.require(last != Some(Role::Assistant), Rule::LastIsAnAnswer);
    }
}

/// Whether a text holds no half of a surrogate pair, which no UTF-8 on the wire can carry.
fn is_whole(text: &str) -> bool {
    !text::has_stand_ins(text) || char::decode_utf16(text::to_units(text)).all(|c| c.is_ok())
}

fn is_whole_json(value: &Value) -> bool {
    match value {
        Value::String(text) => is_whole(text),
        Value::Array(items) => items.iter().all(is_whole_json),
        Value::Object(members) => {
            json::in_js_order(members).into_iter().all(|(key, value)| is_whole(key) && is_whole_json(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sanitize::policy::ModelTarget;
    use serde_json::json;

    const CLAUDE: ModelTarget<'_> =
        ModelTarget { api: Some("anthropic-messages"), provider: Some("anthropic"), model: Some("claude") };
    const GEMINI: ModelTarget<'_> = ModelTarget {
        api: Some("google-generative-ai"),
        provider: Some("google"),
        model: Some("gemini-3-pro"),
    };
    const MISTRAL: ModelTarget<'_> =
        ModelTarget { api: Some("openai-completions"), provider: Some("mistral"), model: Some("large") };
    const GPT: ModelTarget<'_> =
        ModelTarget { api: Some("openai-responses"), provider: Some("openai"), model: Some("gpt-5") };

    fn rules(list: Value, target: ModelTarget<'_>) -> Vec<Rule> {
        let messages: Vec<Message> =
            list.as_array().unwrap().iter().cloned().filter_map(Message::from_value).collect();
        violations(&messages, &Recipient::of(target)).into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn each_rule_is_told_by_its_name() {
        let user = json!({"role": "user", "content": "u"});
        let says = |blocks: Value| {
            json!({"role": "assistant", "content": blocks,
            "api": "anthropic-messages", "provider": "anthropic", "model": "claude"})
        };
        let text = json!({"type": "text", "text": "t"});
        let call = json!({"type": "toolCall", "id": "a", "name": "x", "arguments": {}});
        let result = json!({"role": "toolResult", "toolCallId": "a", "toolName": "x", "content": [text]});
        let signed = json!({"type": "thinking", "thinking": "t", "thinkingSignature": "s"});
        let unsigned = json!({"type": "thinking", "thinking": "t"});
        let half = text::stand_in(0xD83D).to_string();
        let gif = json!({"type": "image", "mimeType": "image/gif",
            "data": "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"});
        let gifs = |count: usize| json!([{"role": "user", "content": vec![gif.clone(); count]}]);
        let table = [
            (CLAUDE, json!([user]), vec![]),
            (CLAUDE, json!([user, says(json!([signed, text, call])), result]), vec![]),
            (CLAUDE, json!([]), vec![Rule::NoMessages]),
            (
                CLAUDE,
                json!([{"role": "custom", "content": [text]}]),
                vec![Rule::UnknownRole, Rule::FirstIsNoUser],
            ),
            (CLAUDE, json!([{"role": "user", "content": []}]), vec![Rule::EmptyContent]),
            (CLAUDE, json!([{"role": "user", "content": " "}]), vec![Rule::BlankText]),
            (CLAUDE, json!([{"role": "user", "content": format!("x{half}")}]), vec![Rule::HalfACharacter]),
            (CLAUDE, json!([{"role": "user", "content": [call]}]), vec![Rule::WrongBlock]),
            (
                CLAUDE,
                json!([{"role": "user", "content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}]),
                vec![Rule::BadImage],
            ),
            (CLAUDE, gifs(100), vec![]),
            (CLAUDE, gifs(101), vec![Rule::TooManyImages]),
            (MISTRAL, gifs(9), vec![Rule::TooManyImages]),
            (GEMINI, gifs(1), vec![Rule::BadImage]),
            (CLAUDE, json!([user, says(json!([call]))]), vec![Rule::CallWithoutResult, Rule::LastIsAnAnswer]),
            (
                CLAUDE,
                json!([user, says(json!([call])), user, result]),
                vec![Rule::CallWithoutResult, Rule::ResultWithoutCall],
            ),
            (
                CLAUDE,
                json!([user, says(json!([call])), result, says(json!([call])), result]),
                vec![Rule::RepeatedCallId],
            ),
            (CLAUDE, json!([user, says(json!([unsigned, text])), user]), vec![Rule::ForeignThinking]),
            (CLAUDE, json!([user, says(json!([text, signed, text])), user]), vec![Rule::MisplacedThinking]),
            (
                CLAUDE,
                json!([says(json!([text])), user, user]),
                vec![Rule::FirstIsNoUser, Rule::SameSideTwice],
            ),
            (GPT, json!([says(json!([text])), user, user]), vec![]),
            (GPT, json!([says(json!([signed, text]))]), vec![Rule::ForeignThinking]),
            (GEMINI, json!([user, says(json!([call])), result]), vec![Rule::UnsignedCall]),
            (
                MISTRAL,
                json!([user, says(json!([call])), result, user]),
                vec![Rule::BadCallId, Rule::UserAfterResult],
            ),
        ];
        for (target, list, expected) in table {
            assert_eq!(rules(list.clone(), target), expected, "{list}");
        }
    }
}
