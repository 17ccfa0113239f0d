//! What is known about the common services, so that a key is all that has to be said.

use secrecy::SecretString;

use crate::settings::{
    Api, Compat, MaxTokensField, ModelSettings, ProviderSettings, ThinkingBack, ThinkingStyle,
};

/// A service that many people use.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name in front of the slash.
    pub id: &'static str,
    pub api: Api,
    pub base_url: &'static str,
    /// Where its key is looked for in the environment, the first that is there; none are needed for
    /// servers on this machine.
    pub key_variables: &'static [&'static str],
    pub needs_key: bool,
    compat: fn(&str) -> Compat,
}

/// All of them.
pub const ALL: &[Preset] = &[
    Preset {
        id: "anthropic",
        api: Api::AnthropicMessages,
        base_url: "https://api.anthropic.com",
        key_variables: &["ANTHROPIC_API_KEY"],
        needs_key: true,
        compat: |_| Compat::default(),
    },
    Preset {
        id: "openai",
        api: Api::OpenAiResponses,
        base_url: "https://api.openai.com/v1",
        key_variables: &["OPENAI_API_KEY"],
        needs_key: true,
        compat: |_| Compat::openai(),
    },
    Preset {
        id: "google",
        api: Api::GoogleGenerativeAi,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        needs_key: true,
        compat: |_| Compat::default(),
    },
    Preset {
        id: "openrouter",
        api: Api::OpenAiCompletions,
        base_url: "https://openrouter.ai/api/v1",
        key_variables: &["OPENROUTER_API_KEY"],
        needs_key: true,
        compat: |model| Compat {
            thinking: ThinkingStyle::OpenRouter,
            cache_markers: model.starts_with("anthropic/"),
            ..Compat::default()
        },
    },
    Preset {
        id: "groq",
        api: Api::OpenAiCompletions,
        base_url: "https://api.groq.com/openai/v1",
        key_variables: &["GROQ_API_KEY"],
        needs_key: true,
        compat: |_| Compat { max_tokens: MaxTokensField::MaxCompletionTokens, ..Compat::default() },
    },
    Preset {
        id: "mistral",
        api: Api::OpenAiCompletions,
        base_url: "https://api.mistral.ai/v1",
        key_variables: &["MISTRAL_API_KEY"],
        needs_key: true,
        compat: |_| Compat {
            thinking: ThinkingStyle::Unasked,
            thinking_back: ThinkingBack::Text,
            // It tells the usage unasked, and takes no unknown fields.
            usage_in_stream: false,
            tool_result_name: true,
            ..Compat::default()
        },
    },
    Preset {
        id: "deepseek",
        api: Api::OpenAiCompletions,
        base_url: "https://api.deepseek.com/v1",
        key_variables: &["DEEPSEEK_API_KEY"],
        needs_key: true,
        compat: |_| Compat { thinking: ThinkingStyle::Unasked, ..Compat::default() },
    },
    Preset {
        id: "xai",
        api: Api::OpenAiCompletions,
        base_url: "https://api.x.ai/v1",
        key_variables: &["XAI_API_KEY"],
        needs_key: true,
        compat: |_| Compat { thinking: ThinkingStyle::Unasked, ..Compat::default() },
    },
    Preset {
        id: "ollama",
        api: Api::OpenAiCompletions,
        base_url: "http://127.0.0.1:11434/v1",
        key_variables: &["OLLAMA_API_KEY"],
        needs_key: false,
        compat: |_| Compat::default(),
    },
    Preset {
        id: "vllm",
        api: Api::OpenAiCompletions,
        base_url: "http://127.0.0.1:8000/v1",
        key_variables: &["VLLM_API_KEY"],
        needs_key: false,
        compat: |_| Compat::default(),
    },
    Preset {
        id: "lmstudio",
        api: Api::OpenAiCompletions,
        base_url: "http://127.0.0.1:1234/v1",
        key_variables: &["LM_API_TOKEN"],
        needs_key: false,
        compat: |_| Compat::default(),
    },
];

/// The service of that name.
pub fn preset(id: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.id == id)
}

impl Preset {
    /// What the service wants a model of that name to be asked like.
    pub fn compat(&self, model: &str) -> Compat {
        (self.compat)(model)
    }

    /// The service, with these models.
    pub fn settings(&self, api_key: Option<SecretString>, models: Vec<ModelSettings>) -> ProviderSettings {
        ProviderSettings {
            id: self.id.to_owned(),
            api: self.api,
            base_url: self.base_url.to_owned(),
            api_key,
            bearer: false,
            headers: Vec::new(),
            models,
        }
    }

    /// A model of the service, as [`ModelSettings::named`].
    pub fn model(&self, id: &str) -> ModelSettings {
        ModelSettings { compat: self.compat(id), ..ModelSettings::named(id) }
    }
}
