//! What the wire formats have in common: a request goes out, and events come back.

use std::sync::Arc;

use serde_json::json;
use yabby_domain::directive::level::{Level as _, ThinkLevel, supports_xhigh};
use yabby_domain::json::Value;
use yabby_domain::message::Message;
use yabby_domain::seam::model::{Answer, ModelEvent, ModelRequest};
use yabby_domain::seam::tool::ToolSpec;
use yabby_domain::text;

use crate::failure::Failure;
use crate::settings::{Api, ModelSettings, ProviderSettings};
use crate::{anthropic, gemini, openai_chat, openai_responses};

/// A request, ready to be sent.
pub(crate) struct Outgoing {
    pub(crate) url: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The header that carries the key, and what stands in front of it.
    pub(crate) key: (&'static str, &'static str),
    pub(crate) body: Body,
}

/// The body of a request: an object in which one field, the conversation, is written apart from the others.
pub(crate) struct Body {
    /// Everything, with the conversation empty.
    pub(crate) fields: Value,
    pub(crate) conversation: Conversation,
}

/// The conversation of a request as a wire format wants it.
pub(crate) struct Conversation {
    /// The field that it stands in.
    pub(crate) field: &'static str,
    /// What stands in front of it.
    pub(crate) opening: Vec<Value>,
    /// The text of what was said long ago: items with commas between them.
    pub(crate) settled: Vec<Arc<str>>,
    pub(crate) items: Vec<Value>,
}

impl Conversation {
    /// Settled messages are written once for `format`, which names everything that `items` depends on besides the
    /// messages.
    pub(crate) fn new(
        field: &'static str,
        request: &ModelRequest,
        format: &str,
        items: impl Fn(&[Message]) -> Vec<Value>,
    ) -> Self {
        let text = |messages: &[Message]| {
            let items: Vec<String> = items(messages).iter().map(sent).collect();
            items.join(",")
        };
        let settled = request.settled.iter().map(|part| part.sent_as(format, text)).collect();
        Self { field, opening: Vec::new(), settled, items: items(&request.messages) }
    }
}

impl Body {
    /// The text that is sent.
    pub(crate) fn to_text(&self) -> String {
        let Self { fields, conversation } = self;
        let length: usize = conversation.settled.iter().map(|text| text.len() + 1).sum();
        let mut out = String::with_capacity(length + 64 * 1024);
        for (name, value) in fields.as_object().into_iter().flatten() {
            out.push(if out.is_empty() { '{' } else { ',' });
            out.push_str(&sent(&Value::from(name.as_str())));
            out.push(':');
            if name == conversation.field {
                conversation.write_to(&mut out);
            } else {
                out.push_str(&sent(value));
            }
        }
        out.push('}');
        out
    }
}

/// A value as it is sent.
fn sent(value: &Value) -> String {
    text::to_outside(&value.to_string()).into_owned()
}

impl Conversation {
    fn write_to(&self, out: &mut String) {
        out.push('[');
        let start = out.len();
        let separate = |out: &mut String| {
            if out.len() > start {
                out.push(',');
            }
        };
        for item in &self.opening {
            separate(out);
            out.push_str(&sent(item));
        }
        for part in self.settled.iter().filter(|part| !part.is_empty()) {
            separate(out);
            out.push_str(part);
        }
        for item in &self.items {
            separate(out);
            out.push_str(&sent(item));
        }
        out.push(']');
    }
}

/// Whoever listens to an answer.
pub(crate) type Heard<'h> = &'h mut (dyn FnMut(ModelEvent) + Send);

/// Makes an answer of the events of a stream.
pub(crate) trait Reader: Send {
    /// Takes the data of one event.
    fn read(&mut self, event: &Value, heard: Heard<'_>) -> Result<(), Failure>;

    /// The stream says that it is over, in the way of Chat Completions.
    fn done(&mut self) {}

    /// Nothing more is to come.
    fn is_complete(&self) -> bool;

    /// The answer; [`Failure::cut_off`] if its end is missing.
    fn finish(self: Box<Self>) -> Result<Answer, Failure>;
}

/// What is asked, and of whom.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) settings: &'a ProviderSettings,
    pub(crate) model: &'a ModelSettings,
    pub(crate) request: &'a ModelRequest,
}

pub(crate) fn outgoing(asked: Asked<'_>) -> Outgoing {
    let outgoing = match asked.settings.api {
        Api::AnthropicMessages => anthropic::outgoing(asked),
        Api::OpenAiCompletions => openai_chat::outgoing(asked),
        Api::OpenAiResponses => openai_responses::outgoing(asked),
        Api::GoogleGenerativeAi => gemini::outgoing(asked),
    };
    match asked.settings.bearer {
        true => Outgoing { key: BEARER, ..outgoing },
        false => outgoing,
    }
}

/// Where tokens go, whichever header keys go into.
pub(crate) const BEARER: (&str, &str) = ("authorization", "Bearer ");

pub(crate) fn reader(api: Api) -> Box<dyn Reader> {
    match api {
        Api::AnthropicMessages => Box::<anthropic::Stream>::default(),
        Api::OpenAiCompletions => Box::<openai_chat::Stream>::default(),
        Api::OpenAiResponses => Box::<openai_responses::Stream>::default(),
        Api::GoogleGenerativeAi => Box::<gemini::Stream>::default(),
    }
}

/// How much may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// What was asked for, as far as there is room.
    pub(crate) asked: u64,
    /// What the model can write, and has room for behind what it reads.
    pub(crate) most: u64,
}

pub(crate) fn room(model: &ModelSettings, request: &ModelRequest) -> Room {
    // More is rarely meant, and many services count it against the limits of an account.
    const USUAL: u64 = 32_000;
    // Services refuse what might not fit, however short the answer would have been. If it cannot fit at
    // all, they shall say so.
    const LEAST: u64 = 1024;
    let left = model.context_window.saturating_sub(about(request));
    let most = model.max_output.min(left.max(LEAST)).max(1);
    Room { asked: request.max_tokens.unwrap_or(USUAL).clamp(1, most), most }
}

/// About how many tokens a request is, rather too many than too few.
fn about(request: &ModelRequest) -> u64 {
    let tool = |tool: &Arc<ToolSpec>| {
        text::units(&tool.name) + text::units(&tool.description) + length(&tool.parameters)
    };
    let units = text::units(&request.system) + request.tools.iter().map(tool).sum::<usize>();
    let tokens = units as u64 / 4 + request.message_tokens();
    tokens + tokens / 5
}

/// What a model is told about a tool, under the name that a service has for its schema. What is long in a request stands
/// outside the macro, which would copy it by way of a serialiser.
pub(crate) fn described(spec: &ToolSpec, schema: &str) -> Value {
    let mut tool = json!({"name": spec.name, "description": spec.description});
    tool[schema] = spec.parameters.clone();
    tool
}

/// About how long a value is as text.
fn length(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 10,
        Value::String(text) => text.len() + 3,
        Value::Array(items) => 2 + items.iter().map(length).sum::<usize>(),
        Value::Object(members) => {
            2 + members.iter().map(|(name, value)| name.len() + 4 + length(value)).sum::<usize>()
        }
    }
}

/// The word for a level that services understand; few models know the highest.
pub(crate) fn effort(settings: &ProviderSettings, model: &ModelSettings, level: ThinkLevel) -> &'static str {
    match level {
        ThinkLevel::Xhigh if !supports_xhigh(Some(&settings.id), &model.id) => ThinkLevel::High.as_str(),
        level => level.as_str(),
    }
}

/// A method of a service.
pub(crate) fn url(settings: &ProviderSettings, path: &str) -> String {
    format!("{}/{path}", settings.base_url.trim_end_matches('/'))
}

/// A count of tokens in a report; zero where it is missing.
pub(crate) fn count(report: &Value, path: &[&str]) -> f64 {
    let found = path.iter().try_fold(report, |value, field| value.get(field));
    found.and_then(Value::as_f64).filter(|count| count.is_finite() && *count > 0.0).unwrap_or(0.0)
}

/// A text in an event; empty where it is missing.
pub(crate) fn text_at<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use yabby_domain::model::ModelRef;

    use super::*;

    #[test]
    fn an_answer_has_room_behind_what_is_read() {
        //  window   max output  asked       read     asked  most
        let table = [
            (200_000, 64_000, None, 100, 32_000, 64_000),
            (200_000, 64_000, Some(500), 100, 500, 64_000),
            (200_000, 8192, None, 100, 8192, 8192),
            (8192, 8192, None, 4000, 3392, 3392),
            (8192, 8192, None, 9000, 1024, 1024),
        ];
        for (context_window, max_output, max_tokens, read, asked, most) in table {
            let model = ModelSettings { context_window, max_output, ..ModelSettings::named("m") };
            let text = "x".repeat(read * 4);
            let message = serde_json::json!({"role": "user", "content": text});
            let messages = Message::from_value(message).into_iter().collect();
            let request = ModelRequest { max_tokens, ..ModelRequest::new(ModelRef::new("p", "m"), messages) };
            assert_eq!(room(&model, &request), Room { asked, most }, "{context_window} {read}");
        }
    }

    /// JSON made of the names that services use, in any places.
    fn any_event() -> impl Strategy<Value = Value> {
        let names = [
            "type",
            "index",
            "delta",
            "content_block",
            "message",
            "usage",
            "text",
            "thinking",
            "signature",
            "input",
            "id",
            "name",
            "choices",
            "content",
            "tool_calls",
            "function",
            "arguments",
            "finish_reason",
            "item",
            "output_index",
            "summary",
            "call_id",
            "response",
            "status",
            "incomplete_details",
            "reason",
            "candidates",
            "parts",
            "functionCall",
            "args",
            "thoughtSignature",
            "finishReason",
            "usageMetadata",
            "error",
            "code",
            "details",
            "metadata",
            "raw",
            "reasoning_content",
            "reasoning_details",
            "data",
            "stop_reason",
            "input_tokens",
            "prompt_tokens",
            "total_tokens",
        ];
        let words = [
            "",
            "text",
            "thinking",
            "tool_use",
            "message_start",
            "content_block_start",
            "content_block_delta",
            "message_delta",
            "message_stop",
            "text_delta",
            "input_json_delta",
            "signature_delta",
            "end_turn",
            "stop",
            "length",
            "response.output_item.added",
            "response.output_item.done",
            "response.output_text.delta",
            "response.completed",
            "response.failed",
            "reasoning",
            "function_call",
            "STOP",
            "SAFETY",
            "{",
            "{}",
            "é😀",
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            select(words.to_vec()).prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 60, 8, move |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::from),
                vec((select(names.to_vec()), inner), 0..8).prop_map(|fields| fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_event_is_too_strange(events in vec(any_event(), 0..12)) {
            let all = [Api::AnthropicMessages, Api::OpenAiCompletions, Api::OpenAiResponses, Api::GoogleGenerativeAi];
            for api in all {
                let mut reader = reader(api);
                for event in &events {
                    if let Err(failure) = reader.read(event, &mut |_| {}) {
                        let told = failure.sentence("p", "m", []).message;
                        prop_assert!(told.len() < 2000 && !told.contains('\n'), "{}", told);
                    }
                }
                reader.done();
                if let Ok(answer) = reader.finish() {
                    prop_assert!(answer.usage.total.unwrap_or(0.0) >= 0.0);
                }
            }
        }
    }
}
