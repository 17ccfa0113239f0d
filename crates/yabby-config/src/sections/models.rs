//! MISSING models

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{NonNegativeInteger, Number, PositiveInteger, PositiveNumber};
use crate::sections::text::NonEmptyText;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Models {
    pub mode: Option<CatalogMode>,
    pub providers: Option<Map<ModelProvider>>,
    pub bedrock_discovery: Option<BedrockDiscovery>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelProvider {
    pub base_url: NonEmptyText,
    pub api_key: Option<String>,
    pub auth: Option<ProviderAuth>,
    pub api: Option<ModelApi>,
    pub headers: Option<Map<String>>,
    pub auth_header: Option<bool>,
    pub models: Vec<ModelDefinition>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelDefinition {
    pub id: NonEmptyText,
    pub name: NonEmptyText,
    pub api: Option<ModelApi>,
    pub reasoning: Option<bool>,
    pub input: Option<Vec<ModelInput>>,
    pub cost: Option<ModelCost>,
    pub context_window: Option<PositiveNumber>,
    pub max_tokens: Option<PositiveNumber>,
    pub headers: Option<Map<String>>,
    pub compat: Option<ModelCompatibility>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelCost {
    pub input: Option<Number>,
    pub output: Option<Number>,
    pub cache_read: Option<Number>,
    pub cache_write: Option<Number>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelCompatibility {
    pub supports_store: Option<bool>,
    pub supports_developer_role: Option<bool>,
    pub supports_reasoning_effort: Option<bool>,
    pub max_tokens_field: Option<MaxTokensField>,
}

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

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum CatalogMode {
    Merge,
    Replace,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum ProviderAuth {
    ApiKey,
    AwsSdk,
    Oauth,
    Token,
}

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
