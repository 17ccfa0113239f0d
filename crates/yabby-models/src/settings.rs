//! What is to be known about a service before it can be asked.

use secrecy::SecretString;
use yabby_domain::reply::usage_line::Prices;
use yabby_domain::seam::model::ModelInfo;

/// A service, and what it has.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    /// The name in front of the slash.
    pub id: String,
    pub api: Api,
    /// Where it is, up to the path that all of its methods share: `https://api.openai.com/v1`.
    pub base_url: String,
    /// `None` for servers that ask for none.
    pub api_key: Option<SecretString>,
    /// The key is a token that somebody got by signing in, which goes where such tokens go.
    pub bearer: bool,
    /// Sent with every request; they win over ours, and may be as secret as the key.
    pub headers: Vec<(String, SecretString)>,
    pub models: Vec<ModelSettings>,
}

impl ProviderSettings {
    pub(crate) fn find(&self, model: &str) -> Option<&ModelSettings> {
        self.models.iter().find(|settings| settings.id == model)
    }

    pub(crate) fn describe(&self, model: &str) -> Option<ModelInfo> {
        let model = self.find(model)?;
        Some(ModelInfo {
            api: self.api.as_str().to_owned(),
            context_window: model.context_window,
            max_output: model.max_output,
            reasoning: model.reasoning,
            images: model.images,
            prices: model.prices,
        })
    }

    /// The same with one model, and the key that it is asked with.
    pub(crate) fn to_ask(&self, model: &str, api_key: Option<SecretString>, bearer: bool) -> Self {
        Self {
            id: self.id.clone(),
            api: self.api,
            base_url: self.base_url.clone(),
            api_key,
            bearer,
            headers: self.headers.clone(),
            models: self.find(model).cloned().into_iter().collect(),
        }
    }
}

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    AnthropicMessages,
    /// Chat Completions, of OpenAI and everybody who speaks it.
    OpenAiCompletions,
    OpenAiResponses,
    GoogleGenerativeAi,
}

/// A model of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSettings {
    pub id: String,
    /// In tokens.
    pub context_window: u64,
    pub max_output: u64,
    /// It can think before it answers.
    pub reasoning: bool,
    pub images: bool,
    pub prices: Option<Prices>,
    pub compat: Compat,
}

/// In what servers of the same format differ. The default suits most that are not OpenAI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compat {
    pub max_tokens: MaxTokensField,
    /// The opening words of a model that thinks come from a `developer`, not from `system`.
    pub developer_role: bool,
    /// It keeps answers unless it is told not to.
    pub store: bool,
    pub thinking: ThinkingStyle,
    /// How an answer's thinking is sent back.
    pub thinking_back: ThinkingBack,
    /// It tells the usage at the end of a stream if it is asked to.
    pub usage_in_stream: bool,
    /// Results of tools carry the name of the tool.
    pub tool_result_name: bool,
    /// It takes a key that its cache is looked up by.
    pub prompt_cache_key: bool,
    /// It passes Anthropic's cache markers on.
    pub cache_markers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxTokensField {
    MaxTokens,
    MaxCompletionTokens,
}

/// How a model is asked to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingStyle {
    /// The way of its wire format: `reasoning_effort` of three levels, a budget of tokens, a level.
    Usual,
    /// `reasoning_effort` of all levels that OpenAI has.
    EveryLevel,
    /// Anthropic's models that decide themselves how long they think, given an effort.
    Adaptive,
    /// OpenRouter's `reasoning`.
    OpenRouter,
    /// On or off, Z.AI's way.
    Zai,
    /// On or off, Qwen's way.
    Qwen,
    /// Not at all: it thinks as it likes.
    Unasked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingBack {
    /// In the field that it came in.
    Field,
    /// As text in front of the answer.
    Text,
}

impl Api {
    /// As transcripts spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenAiCompletions => "openai-completions",
            Self::OpenAiResponses => "openai-responses",
            Self::GoogleGenerativeAi => "google-generative-ai",
        }
    }

    /// The format that a configuration names.
    pub fn parse(name: &str) -> Option<Self> {
        let all = [
            Self::AnthropicMessages,
            Self::OpenAiCompletions,
            Self::OpenAiResponses,
            Self::GoogleGenerativeAi,
        ];
        all.into_iter().find(|api| api.as_str() == name)
    }
}

impl Default for Compat {
    fn default() -> Self {
        Self {
            max_tokens: MaxTokensField::MaxTokens,
            developer_role: false,
            store: false,
            thinking: ThinkingStyle::Usual,
            thinking_back: ThinkingBack::Field,
            usage_in_stream: true,
            tool_result_name: false,
            prompt_cache_key: false,
            cache_markers: false,
        }
    }
}

impl Compat {
    /// OpenAI itself.
    pub fn openai() -> Self {
        Self {
            max_tokens: MaxTokensField::MaxCompletionTokens,
            developer_role: true,
            store: true,
            thinking: ThinkingStyle::EveryLevel,
            prompt_cache_key: true,
            ..Self::default()
        }
    }
}

impl ModelSettings {
    /// A model of which nothing is known but its name: it reads 128,000 tokens and writes 8192, without
    /// thinking or images.
    pub fn named(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            context_window: 128_000,
            max_output: 8192,
            reasoning: false,
            images: false,
            prices: None,
            compat: Compat::default(),
        }
    }
}
