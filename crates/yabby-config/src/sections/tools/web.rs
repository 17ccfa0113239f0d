//! `tools.web`: searching and fetching.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::number::{NonNegativeInteger, NonNegativeNumber, PositiveInteger};

/// Searching and fetching.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebTools {
    pub search: Option<WebSearch>,
    pub fetch: Option<WebFetch>,
}

/// Searching the web.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebSearch {
    /// Whether it is on. Default: true where there is a key.
    pub enabled: Option<bool>,
    /// Who is asked. Default: brave.
    pub provider: Option<WebSearchProvider>,
    /// The key. Default: the variable `BRAVE_API_KEY`.
    pub api_key: Option<String>,
    /// How many results. Default: 5.
    pub max_results: Option<PositiveInteger>,
    /// How long it may take. Default: 30.
    pub timeout_seconds: Option<PositiveInteger>,
    /// How long results are kept. Default: 15.
    pub cache_ttl_minutes: Option<NonNegativeNumber>,
    pub perplexity: Option<Perplexity>,
}

/// Searching with Perplexity.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Perplexity {
    pub api_key: Option<String>,
    pub base_url: Option<String>,
    pub model: Option<String>,
}

/// Fetching pages.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebFetch {
    /// Whether it is on. Default: true.
    pub enabled: Option<bool>,
    /// How much of a page is read. Default: 50000.
    pub max_chars: Option<PositiveInteger>,
    /// How much may be asked for. Default: 50000.
    pub max_chars_cap: Option<PositiveInteger>,
    /// How long it may take. Default: 30.
    pub timeout_seconds: Option<PositiveInteger>,
    /// How long pages are kept. Default: 15.
    pub cache_ttl_minutes: Option<NonNegativeNumber>,
    /// How many redirections are followed. Default: 3.
    pub max_redirects: Option<NonNegativeInteger>,
    /// What the program calls itself.
    pub user_agent: Option<String>,
}

/// Who searches.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum WebSearchProvider {
    Brave,
    Perplexity,
}
