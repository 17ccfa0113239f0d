//! `models`: providers and models beyond the built-in ones.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, Number, PositiveInteger, PositiveNumber};
use crate::sections::text::NonEmptyText;

/// Providers and models beyond the built-in ones.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Models {
    /// Whether the built-in catalog stays. Default: merge.
    pub mode: Option<CatalogMode>,
    /// Providers by name.
    pub providers: Option<Map<ModelProvider>>,
    /// Whether models of Amazon Bedrock are looked up.
    pub bedrock_discovery: Option<BedrockDiscovery>,
}

/// A provider of models.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelProvider {
    /// Where it is reached.
    pub base_url: NonEmptyText,
    /// Its key, or the name of the variable that holds it.
    pub api_key: Option<String>,
    /// How requests are signed.
    pub auth: Option<ProviderAuth>,
    /// Which protocol it speaks.
    pub api: Option<ModelApi>,
    /// Headers for every request.
    pub headers: Option<Map<String>>,
    /// Whether the key goes into the `Authorization` header.
    pub auth_header: Option<bool>,
    /// Its models.
    pub models: Vec<ModelDefinition>,
}

/// A model.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelDefinition {
    /// Its name at the provider.
    pub id: NonEmptyText,
    /// Its name for people.
    pub name: NonEmptyText,
    /// Its protocol, where it differs from the provider's.
    pub api: Option<ModelApi>,
    /// Whether it can think. Default: false.
    pub reasoning: Option<bool>,
    /// What it reads. Default: text.
    pub input: Option<Vec<ModelInput>>,
    /// Its prices per million tokens. Default: 0.
    pub cost: Option<ModelCost>,
    /// How many tokens it can see. Default: 200000.
    pub context_window: Option<PositiveNumber>,
    /// How many it may write. Default: 8192.
    pub max_tokens: Option<PositiveNumber>,
    pub headers: Option<Map<String>>,
    pub compat: Option<ModelCompatibility>,
}

/// Prices per million tokens.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelCost {
    pub input: Option<Number>,
    pub output: Option<Number>,
    pub cache_read: Option<Number>,
    pub cache_write: Option<Number>,
}

/// What a provider does differently from the protocol it speaks.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelCompatibility {
    pub supports_store: Option<bool>,
    pub supports_developer_role: Option<bool>,
    pub supports_reasoning_effort: Option<bool>,
    pub max_tokens_field: Option<MaxTokensField>,
}

/// The lookup of models at Amazon Bedrock.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BedrockDiscovery {
    pub enabled: Option<bool>,
    pub region: Option<String>,
    pub provider_filter: Option<Vec<String>>,
    pub refresh_interval: Option<NonNegativeInteger>,
    pub default_context_window: Option<PositiveInteger>,
    pub default_max_tokens: Option<PositiveInteger>,
}

/// Whether the built-in catalog stays.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum CatalogMode {
    Merge,
    Replace,
}

/// How requests are signed.
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum ProviderAuth {
    ApiKey,
    AwsSdk,
    Oauth,
    Token,
}

/// A protocol of model providers.
#[derive(JsonSchema)]
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

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ModelInput {
    Text,
    Image,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = as_literals)]
pub enum MaxTokensField {
    MaxCompletionTokens,
    MaxTokens,
}
