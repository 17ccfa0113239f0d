//! What every provider accepts (`transcripts.md` §8, and the providers' own documentation).
//!
//! "A transcript cannot break": whatever a crash, an abort or a switch of providers left in a
//! transcript, the request made from it is one that the provider takes. [`make_acceptable`] is the last
//! step before the wire, behind the sanitising that follows the reference: it takes the messages as
//! they would go out, the new prompt included, and returns messages that keep the rules.
//! [`violations`] states these rules on their own; it shares no code with the repair but the formats
//! of ids, names, images and signatures.
//!
//! | Rule | Anthropic | OpenAI Chat | OpenAI Responses | Gemini | Mistral |
//! |---|---|---|---|---|---|
//! | at least one message; no empty ones; no blank text; whole characters only | yes | yes | yes | yes | yes |
//! | each call is answered once, right behind it; no other results | yes | yes | yes | yes | yes |
//! | call ids differ, and are | ≤ 64 of `A-Za-z0-9_-` | ≤ 40 of the same | ≤ 64, also `call\|fc…` | ≤ 64 | 9 of `A-Za-z0-9` |
//! | tool names ≤ 64 of `A-Za-z0-9_-`, arguments are an object | yes | yes | yes | first a letter or `_` | yes |
//! | thinking only of the same model and never last | signed, and first if any | yes | a reasoning item | signature in base64 | yes |
//! | first call of an answer is signed | - | - | - | from Gemini 3 on | - |
//! | sides alternate, beginning and ending on the user's side | yes | - | - | yes | yes |
//! | an answer between results and the next user message | - | - | - | - | yes |
//! | images are JPEG, PNG, WebP or GIF of ≤ 5 MiB and 8000 px (2000 px if more than 20) | yes | yes | yes | no GIF | yes |
//! | images per request, and their share of its size | 100, 24 MiB | 500, 37 MiB | 500, 37 MiB | 900, 15 MiB | 8, 37 MiB |
//!
//! One rule depends on how the model is asked, not on the messages alone: see [`may_think`].

mod accept;
mod check;
mod formats;

pub use accept::make_acceptable;
pub use check::{Rule, Violation, violations};
pub use formats::all_images_fit;

use crate::json::Value;
use crate::message::{Message, Role};
use crate::sanitize::policy::{ModelTarget, is_mistral, provider_id};
use crate::text;

/// Providers that keep the same rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderFamily {
    Anthropic,
    OpenAiChat,
    OpenAiResponses,
    Gemini,
    Mistral,
}

/// Who a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipient<'t> {
    pub family: ProviderFamily,
    pub target: ModelTarget<'t>,
}

impl<'t> Recipient<'t> {
    pub fn of(target: ModelTarget<'t>) -> Self {
        Self { family: ProviderFamily::of(&target), target }
    }

    /// Whether this very model wrote `message`; only then are its signatures worth anything.
    fn wrote(&self, message: &Message) -> bool {
        let same = |field: &str, ours: Option<&str>| {
            ours.is_some_and(|ours| message.text_field(field) == Some(ours))
        };
        same("api", self.target.api)
            && same("provider", self.target.provider)
            && same("model", self.target.model)
    }

    /// Whether the first call of an answer has to carry a thought signature.
    fn wants_signed_calls(&self) -> bool {
        let model = text::lower(self.target.model.unwrap_or_default());
        let generation = model.split("gemini-").nth(1).and_then(|rest| {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            rest[..digits].parse::<u32>().ok()
        });
        self.family == ProviderFamily::Gemini && generation.is_some_and(|generation| generation >= 3)
    }
}

/// Whether the model may be asked to think before it answers these messages.
///
/// Anthropic wants the answer that the last tool results belong to, to begin with thinking if the next
/// one shall; where a crash or a switch of models has lost it, the request has to go without.
pub fn may_think(messages: &[Message], recipient: &Recipient<'_>) -> bool {
    let last_answer = messages.iter().rfind(|message| message.role() == Role::Assistant);
    let blocks = last_answer.map(|answer| answer.blocks()).unwrap_or_default();
    let is_kind = |block: &Value, kinds: &[&str]| {
        block.get("type").and_then(Value::as_str).is_some_and(|kind| kinds.contains(&kind))
    };
    let calls = blocks.iter().any(|block| is_kind(block, &["toolCall"]));
    let begins_with_thinking =
        blocks.first().is_some_and(|block| is_kind(block, &["thinking", "redacted_thinking"]));
    recipient.family != ProviderFamily::Anthropic || !calls || begins_with_thinking
}

impl ProviderFamily {
    pub fn of(target: &ModelTarget<'_>) -> Self {
        let provider = provider_id(target.provider.unwrap_or_default());
        let model = text::lower(target.model.unwrap_or_default());
        match target.api.unwrap_or_default() {
            "anthropic-messages" | "bedrock-converse-stream" => Self::Anthropic,
            "openai-responses" | "openai-codex-responses" | "azure-openai-responses" => Self::OpenAiResponses,
            "google-gemini-cli" | "google-generative-ai" | "google-antigravity" | "google-vertex" => {
                Self::Gemini
            }
            _ if is_mistral(&provider, &model) => Self::Mistral,
            "" if provider == "anthropic" => Self::Anthropic,
            "" if provider.starts_with("google") => Self::Gemini,
            "" if provider.starts_with("openai") => Self::OpenAiResponses,
            _ => Self::OpenAiChat,
        }
    }

    /// Whether user and assistant take turns, beginning and ending with the user.
    fn alternates(self) -> bool {
        match self {
            Self::Anthropic | Self::Gemini | Self::Mistral => true,
            Self::OpenAiChat | Self::OpenAiResponses => false,
        }
    }
}

/// What Gemini takes for the signature of a call that it did not sign itself.
const UNSIGNED_CALL: &str = "skip_thought_signature_validator";

/// The fields in which providers leave signatures on text and calls.
const BLOCK_SIGNATURES: [&str; 3] = ["textSignature", "thoughtSignature", "thought_signature"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_decides_the_family_and_the_model_where_the_api_is_shared() {
        use ProviderFamily::{Anthropic, Gemini, Mistral, OpenAiChat, OpenAiResponses};
        let table = [
            (Some("anthropic-messages"), Some("minimax"), Some("M2"), Anthropic),
            (Some("openai-completions"), Some("openrouter"), Some("mistralai/devstral"), Mistral),
            (Some("openai-completions"), Some("groq"), Some("llama"), OpenAiChat),
            (Some("openai-codex-responses"), Some("openai-codex"), Some("gpt-5"), OpenAiResponses),
            (Some("google-antigravity"), Some("google-antigravity"), Some("claude-opus"), Gemini),
            (None, Some(" Anthropic "), None, Anthropic),
            (None, None, None, OpenAiChat),
        ];
        for (api, provider, model, family) in table {
            let target = ModelTarget { api, provider, model };
            assert_eq!(Recipient::of(target).family, family, "{target:?}");
        }
    }

    #[test]
    fn calls_are_signed_from_gemini_3_on() {
        let table =
            [("gemini-2.5-pro", false), ("Gemini-3-pro", true), ("gemini-10", true), ("claude", false)];
        for (model, signed) in table {
            let target = ModelTarget { api: Some("google-vertex"), provider: None, model: Some(model) };
            assert_eq!(Recipient::of(target).wants_signed_calls(), signed, "{model}");
        }
    }
    #[test]
    fn thinking_needs_the_thinking_that_the_last_calls_came_from() {
        use serde_json::json;
        let call = json!({"type": "toolCall", "id": "a", "name": "x", "arguments": {}});
        let thought = json!({"type": "thinking", "thinking": "t", "thinkingSignature": "s"});
        let text = json!({"type": "text", "text": "t"});
        //  last answer                   anthropic  openai
        let table = [
            (json!([call]), false, true),
            (json!([text, call]), false, true),
            (json!([thought, call]), true, true),
            (json!([text]), true, true),
            (json!([]), true, true),
        ];
        for (content, anthropic, openai) in table {
            let list =
                [json!({"role": "user", "content": "u"}), json!({"role": "assistant", "content": content})];
            let messages: Vec<Message> = list.into_iter().filter_map(Message::from_value).collect();
            for (api, expected) in [("anthropic-messages", anthropic), ("openai-responses", openai)] {
                let target = ModelTarget { api: Some(api), provider: None, model: None };
                assert_eq!(may_think(&messages, &Recipient::of(target)), expected, "{api} {content}");
            }
        }
    }
}
