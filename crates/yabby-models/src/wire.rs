//! What the wire formats have in common: a request goes out, and events come back.

use yabby_domain::json::Value;
use yabby_domain::seam::model::{Answer, ModelEvent, ModelRequest};

use crate::failure::Failure;
use crate::settings::{Api, ModelSettings, ProviderSettings};
use crate::{anthropic, gemini, openai_chat, openai_responses};

/// A request, ready to be sent.
pub(crate) struct Outgoing {
    pub(crate) url: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The header that carries the key, and what stands in front of it.
    pub(crate) key: (&'static str, &'static str),
    pub(crate) body: Value,
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

pub(crate) fn outgoing(
    settings: &ProviderSettings,
    model: &ModelSettings,
    request: &ModelRequest,
) -> Outgoing {
    match settings.api {
        Api::AnthropicMessages => anthropic::outgoing(settings, model, request),
        Api::OpenAiCompletions => openai_chat::outgoing(settings, model, request),
        Api::OpenAiResponses => openai_responses::outgoing(settings, model, request),
        Api::GoogleGenerativeAi => gemini::outgoing(settings, model, request),
    }
}

pub(crate) fn reader(api: Api) -> Box<dyn Reader> {
    match api {
        Api::AnthropicMessages => Box::<anthropic::Stream>::default(),
        Api::OpenAiCompletions => Box::<openai_chat::Stream>::default(),
        Api::OpenAiResponses => Box::<openai_responses::Stream>::default(),
        Api::GoogleGenerativeAi => Box::<gemini::Stream>::default(),
    }
}

/// How much may be written: what was asked for, but no more than the model can.
pub(crate) fn max_tokens(model: &ModelSettings, request: &ModelRequest) -> u64 {
    // More is rarely meant, and many services count it against the limits of an account.
    const USUAL: u64 = 32_000;
    let most = model.max_output.max(1);
    request.max_tokens.unwrap_or(USUAL).clamp(1, most)
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
