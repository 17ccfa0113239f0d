//! `models`: providers and models beyond the built-in ones.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, Number, PositiveInteger, PositiveNumber};
use crate::sections::text::NonEmptyText;
use crate::sections::word::Word;

/// Providers and models beyond the built-in ones.
#[section]
pub struct Models {
    /// Whether the built-in catalog stays.
    #[config(default = Merge)]
    pub mode: Option<CatalogMode>,
    /// Providers by name.
    pub providers: Option<Map<ModelProvider>>,
    /// Whether models of Amazon Bedrock are looked up.
    #[serde(default)]
    pub bedrock_discovery: BedrockDiscovery,
}

/// A provider of models.
#[section]
pub struct ModelProvider {
    /// Where it is reached.
    #[config(or_default)]
    pub base_url: NonEmptyText,
    /// Its key, or the name of the variable that holds it.
    pub api_key: Option<String>,
    /// How requests are signed.
    pub auth: Option<Word<ProviderAuth>>,
    /// Which protocol it speaks.
    pub api: Option<Word<ModelApi>>,
    /// Headers for every request.
    pub headers: Option<Map<String>>,
    /// Whether the key goes into the `Authorization` header.
    pub auth_header: Option<bool>,
    /// Its models.
    #[config(or_default)]
    pub models: Vec<ModelDefinition>,
}

/// A model.
#[section]
pub struct ModelDefinition {
    /// Its name at the provider.
    #[config(or_default)]
    pub id: NonEmptyText,
    /// Its name for people.
    #[config(or_default)]
    pub name: NonEmptyText,
    /// Its protocol, where it differs from the provider's.
    pub api: Option<Word<ModelApi>>,
    /// Whether it can think.
    #[config(default = false)]
    pub reasoning: Option<bool>,
    /// What it reads. Default: text.
    pub input: Option<Vec<ModelInput>>,
    /// Its prices per million tokens. Default: 0.
    #[serde(default)]
    pub cost: ModelCost,
    /// How many tokens it can see.
    #[config(default = 200000)]
    pub context_window: Option<PositiveNumber>,
    /// How many it may write.
    #[config(default = 8192)]
    pub max_tokens: Option<PositiveNumber>,
    pub headers: Option<Map<String>>,
    #[serde(default)]
    pub compat: ModelCompatibility,
}

/// Prices per million tokens.
#[section]
pub struct ModelCost {
    pub input: Option<Number>,
    pub output: Option<Number>,
    pub cache_read: Option<Number>,
    pub cache_write: Option<Number>,
}

/// What a provider does differently from the protocol it speaks.
#[section]
pub struct ModelCompatibility {
    pub supports_store: Option<bool>,
    pub supports_developer_role: Option<bool>,
    pub supports_reasoning_effort: Option<bool>,
    pub max_tokens_field: Option<MaxTokensField>,
}

/// The lookup of models at Amazon Bedrock.
#[section]
pub struct BedrockDiscovery {
    pub enabled: Option<bool>,
    pub region: Option<String>,
    pub provider_filter: Option<Vec<String>>,
    pub refresh_interval: Option<NonNegativeInteger>,
    pub default_context_window: Option<PositiveInteger>,
    pub default_max_tokens: Option<PositiveInteger>,
}

/// Whether the built-in catalog stays.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum CatalogMode {
    Merge,
    Replace,
}

/// How requests are signed.
#[section]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum ProviderAuth {
    ApiKey,
    AwsSdk,
    Oauth,
    Token,
}

/// A protocol of model providers.
#[section]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum ModelApi {
    OpenaiCompletions,
    OpenaiResponses,
    AnthropicMessages,
    GoogleGenerativeAi,
    GithubCopilot,
    BedrockConverseStream,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ModelInput {
    Text,
    Image,
}

#[section]
#[serde(rename_all = "snake_case")]
#[schemars(transform = as_literals)]
pub enum MaxTokensField {
    MaxCompletionTokens,
    MaxTokens,
}
