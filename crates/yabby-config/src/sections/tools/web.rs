//! MISSING tools/web

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::number::{NonNegativeInteger, NonNegativeNumber, PositiveInteger};

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebTools {
    pub search: Option<WebSearch>,
    pub fetch: Option<WebFetch>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebSearch {
    pub enabled: Option<bool>,
    pub provider: Option<WebSearchProvider>,
    pub api_key: Option<String>,
    pub max_results: Option<PositiveInteger>,
    pub timeout_seconds: Option<PositiveInteger>,
    pub cache_ttl_minutes: Option<NonNegativeNumber>,
    pub perplexity: Option<Perplexity>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Perplexity {
    pub api_key: Option<String>,
    pub base_url: Option<String>,
    pub model: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebFetch {
    pub enabled: Option<bool>,
    pub max_chars: Option<PositiveInteger>,
    pub max_chars_cap: Option<PositiveInteger>,
    pub timeout_seconds: Option<PositiveInteger>,
    pub cache_ttl_minutes: Option<NonNegativeNumber>,
    pub max_redirects: Option<NonNegativeInteger>,
    pub user_agent: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum WebSearchProvider {
    Brave,
    Perplexity,
}
