//! A model and the provider it is of (`sessions.md` §15).

use std::fmt;

use crate::text;

/// A model and its provider, e.g. `anthropic/claude-opus-4-5`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModelRef {
    pub provider: String,
    pub model: String,
}

/// The name a provider goes by.
pub fn normalize_provider(raw: &str) -> String {
    let name = text::lower(text::trim(raw));
    match name.as_str() {
        "z.ai" | "z-ai" => "zai".to_owned(),
        "opencode-zen" => "opencode".to_owned(),
        "qwen" => "qwen-portal".to_owned(),
        "kimi-code" => "kimi-coding".to_owned(),
        _ => name,
    }
}

impl ModelRef {
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: provider.into(), model: model.into() }
    }

    /// `provider/model`, or a model of the default provider.
    pub fn parse(raw: &str, default_provider: &str) -> Option<Self> {
        let raw = text::non_blank(raw)?;
        let (provider, model) = match raw.split_once('/') {
            None => (normalize_provider(default_provider), raw),
            Some((provider, model)) => {
                let provider = normalize_provider(provider);
                (Some(provider).filter(|name| !name.is_empty())?, text::non_blank(model)?)
            }
        };
        let model = spelt_out(&provider, model).to_owned();
        Some(Self { provider, model })
    }

    /// A `provider/model` key taken apart; the model may hold further slashes.
    pub fn from_key(key: &str) -> Option<Self> {
        let (provider, model) = key.split_once('/').filter(|(provider, _)| !provider.is_empty())?;
        Some(Self::new(normalize_provider(provider), model))
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// Short names that a provider itself does not know.
fn spelt_out<'m>(provider: &str, model: &'m str) -> &'m str {
    match (provider, text::lower(model).as_str()) {
        ("anthropic", "opus-4.5") => "claude-opus-4-5",
        ("anthropic", "sonnet-4.5") => "claude-sonnet-4-5",
        ("google", "gemini-3-pro") if model == "gemini-3-pro" => "gemini-3-pro-preview",
        ("google", "gemini-3-flash") if model == "gemini-3-flash" => "gemini-3-flash-preview",
        _ => model,
    }
}
