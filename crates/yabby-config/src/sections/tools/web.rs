//! `tools.web`: searching and fetching.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::number::{NonNegativeInteger, NonNegativeNumber, PositiveInteger};
use crate::sections::word::Word;

/// Searching and fetching.
#[section]
pub struct WebTools {
    #[serde(default)]
    pub search: WebSearch,
    #[serde(default)]
    pub fetch: WebFetch,
}

/// Searching the web.
#[section]
pub struct WebSearch {
    /// Whether it is on. Default: true where there is a key.
    pub enabled: Option<bool>,
    /// Who is asked. Default: brave.
    pub provider: Option<Word<WebSearchProvider>>,
    /// The key. Default: the variable `BRAVE_API_KEY`.
    pub api_key: Option<String>,
    /// How many results.
    #[config(default = 5)]
    pub max_results: Option<PositiveInteger>,
    /// How long it may take.
    #[config(default = 30)]
    pub timeout_seconds: Option<PositiveInteger>,
    /// How long results are kept.
    #[config(default = 15)]
    pub cache_ttl_minutes: Option<NonNegativeNumber>,
    #[serde(default)]
    pub perplexity: Perplexity,
}

/// Searching with Perplexity.
#[section]
pub struct Perplexity {
    pub api_key: Option<String>,
    pub base_url: Option<String>,
    pub model: Option<String>,
}

/// Fetching pages.
#[section]
pub struct WebFetch {
    /// Whether it is on.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// How much of a page is read.
    #[config(default = 50000)]
    pub max_chars: Option<PositiveInteger>,
    /// How much may be asked for.
    #[config(default = 50000)]
    pub max_chars_cap: Option<PositiveInteger>,
    /// How long it may take.
    #[config(default = 30)]
    pub timeout_seconds: Option<PositiveInteger>,
    /// How long pages are kept.
    #[config(default = 15)]
    pub cache_ttl_minutes: Option<NonNegativeNumber>,
    /// How many redirections are followed.
    #[config(default = 3)]
    pub max_redirects: Option<NonNegativeInteger>,
    /// What the program calls itself.
    pub user_agent: Option<String>,
}

/// Who searches.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum WebSearchProvider {
    Brave,
    Perplexity,
}
