//! A provider of each wire format, and the stand-in that it asks.

use std::sync::Arc;

use std::time::Duration;

use secrecy::SecretString;
use serde_json::{Value, json};
use yabby_domain::directive::level::ThinkLevel;
use yabby_domain::message::Message;
use yabby_domain::model::ModelRef;
use yabby_domain::provider_rules::{Recipient, make_acceptable};
use yabby_domain::sanitize::policy::ModelTarget;
use yabby_domain::seam::model::{Answer, ModelError, ModelEvent, ModelProvider, ModelRequest};
use yabby_domain::seam::tool::ToolSpec;
use yabby_models::presets::preset;
use yabby_models::settings::{Api, Compat, ModelSettings, ProviderSettings};
use yabby_models::{Http, Patience, RemoteProvider, Retries};
use yabby_testkit::stand_in::{Format, StandIn};

pub const KEY: &str = "test-key-0123456789";
/// A picture of one pixel.
pub const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

pub struct Service {
    pub format: Format,
    pub stand_in: StandIn,
    pub provider: RemoteProvider,
    pub model: ModelRef,
}

/// Short waits: tests have no time.
pub fn quick() -> Retries {
    Retries { most: 2, first_wait: Duration::from_millis(1), longest_wait: Duration::from_secs(2) }
}

impl Service {
    pub async fn start(format: Format) -> Self {
        Self::with_retries(format, quick()).await
    }

    pub async fn with_retries(format: Format, retries: Retries) -> Self {
        let stand_in = StandIn::start().await;
        let settings = settings(format, stand_in.address());
        let model = ModelRef::new(settings.id.clone(), settings.models[0].id.clone());
        let patience = Patience { connect: Duration::from_secs(2), silence: Duration::from_millis(400) };
        let provider = RemoteProvider::new(settings, Http::new(patience), retries);
        Self { format, stand_in, provider, model }
    }

    pub fn api(&self) -> String {
        self.provider.describe(&self.model.model).unwrap().api
    }

    /// A request with everything in it, of these messages, which are made acceptable first.
    pub fn request(&self, messages: Value) -> ModelRequest {
        let api = self.api();
        let target = ModelTarget {
            api: Some(&api),
            provider: Some(&self.model.provider),
            model: Some(&self.model.model),
        };
        let messages = messages.as_array().unwrap().iter().cloned().filter_map(Message::from_value).collect();
        let messages = make_acceptable(messages, &Recipient::of(target));
        ModelRequest {
            system: "You are a crab.".to_owned(),
            tools: tools().into_iter().map(Arc::new).collect(),
            thinking: ThinkLevel::Low,
            session_id: "0a1b2c3d-0000-4000-8000-000000000000".to_owned(),
            ..ModelRequest::new(self.model.clone(), messages)
        }
    }

    pub fn question(&self) -> ModelRequest {
        self.request(json!([{"role": "user", "content": "Hello?", "timestamp": 1}]))
    }

    /// Asks, and gives what was heard and what came of it.
    pub async fn ask(&self, request: &ModelRequest) -> (Vec<ModelEvent>, Result<Answer, ModelError>) {
        let mut heard = Vec::new();
        let answer = self.provider.stream(request, &mut |event| heard.push(event)).await;
        (heard, answer)
    }

    /// An answer as it stands in the transcript.
    pub fn stored(&self, answer: &Answer) -> Value {
        json!({"role": "assistant", "content": answer.blocks, "api": self.api(),
            "provider": self.model.provider, "model": self.model.model,
            "stopReason": answer.stop.as_str(), "timestamp": 2})
    }
}

pub fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str, property: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("Does {name}."),
        parameters: json!({"type": "object", "properties": {property: {"type": "string"}}, "required": [property], "additionalProperties": false}),
    };
    vec![tool("look", "at"), tool("note", "text")]
}

pub fn settings(format: Format, address: &str) -> ProviderSettings {
    let (id, api, path, model) = match format {
        Format::Anthropic => ("anthropic", Api::AnthropicMessages, "", "claude-test"),
        Format::OpenAiChat => ("openai", Api::OpenAiCompletions, "/v1", "gpt-test"),
        Format::OpenAiResponses => ("openai", Api::OpenAiResponses, "/v1", "gpt-test"),
        Format::Gemini => ("google", Api::GoogleGenerativeAi, "/v1beta", "gemini-3-flash-test"),
    };
    let compat = if id == "openai" { Compat::openai() } else { Compat::default() };
    let known = preset(id).unwrap();
    let model = ModelSettings {
        context_window: 200_000,
        max_output: 64_000,
        reasoning: true,
        images: true,
        compat,
        ..known.model(model)
    };
    ProviderSettings {
        api,
        base_url: format!("{address}{path}"),
        ..known.settings(Some(SecretString::from(KEY)), vec![model])
    }
}
