//! An embedder without a model: a text is how many of its words fall into each of sixteen boxes.
//!
//! It is what answered when the memory vectors were recorded, so its numbers are in them.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::{Value, stringify};
use yabby_domain::seam::embedder::{EmbedError, Embedder};
use yabby_domain::{collation, text};
use yabby_memory::compat::Embedders;
use yabby_memory::compat::keys::hash_text;

/// The key of a provider for which nothing else decides about the vectors: Voyage, a local model, ….
pub fn plain_provider_key(provider: &str, model: &str) -> String {
    hash_text(&stringify(&json!({"provider": provider, "model": model})))
}

/// The key of OpenAI and of Gemini: whoever answers at an address, asked with these headers. Keys are no
/// part of it.
pub fn remote_provider_key(
    provider: &str,
    base_url: &str,
    model: &str,
    headers: &[(String, String)],
) -> String {
    let is_key = |name: &str| {
        let name = text::lower(name);
        name == "authorization" || (provider == "gemini" && name == "x-goog-api-key")
    };
    let mut headers: Vec<&(String, String)> = headers.iter().filter(|(name, _)| !is_key(name)).collect();
    headers.sort_by(|(left, _), (right, _)| collation::compare(left, right));
    let headers: Vec<Value> = headers.into_iter().map(|(name, value)| json!([name, value])).collect();
    hash_text(&stringify(&json!({
        "provider": provider, "baseUrl": base_url, "model": model, "headers": headers,
    })))
}

/// This embedder, and nobody else.
pub fn alone(chosen: Arc<dyn Embedder>) -> Embedders {
    Embedders { chosen, fallback: None, stands_in_for: None }
}

/// The boxes of the recorded vectors.
const BOXES: usize = 16;

/// Counts what it is asked, and fails when it is told to.
pub struct HashedEmbedder {
    provider: String,
    model: String,
    provider_key: String,
    told: Mutex<Told>,
}

struct Told {
    boxes: usize,
    /// The documents of each request.
    asked: Vec<Vec<String>>,
    /// How many requests are answered before the next one fails with this message.
    failure: Option<(usize, String)>,
}

impl HashedEmbedder {
    pub fn new(provider: &str, model: &str) -> Self {
        Self::with_key(provider, model, &plain_provider_key(provider, model))
    }

    pub fn with_key(provider: &str, model: &str, provider_key: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            provider_key: provider_key.to_owned(),
            told: Mutex::new(Told { boxes: BOXES, asked: Vec::new(), failure: None }),
        }
    }

    /// From now on vectors have another length.
    pub fn set_boxes(&self, boxes: usize) {
        self.told().boxes = boxes;
    }

    /// After so many more requests for documents, all others fail.
    pub fn fail_after(&self, requests: usize, message: &str) {
        self.told().failure = Some((requests, message.to_owned()));
    }

    pub fn recover(&self) {
        self.told().failure = None;
    }

    /// The documents of each request since the last time this was asked.
    pub fn take_asked(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut self.told().asked)
    }

    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Embedder for HashedEmbedder {
    fn provider(&self) -> &str {
        &self.provider
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn provider_key(&self) -> String {
        self.provider_key.clone()
    }

    async fn query(&self, text: &str) -> Result<Vec<f64>, EmbedError> {
        Ok(hashed(text, self.told().boxes))
    }

    async fn documents(&self, texts: &[String]) -> Result<Vec<Vec<f64>>, EmbedError> {
        let mut told = self.told();
        if let Some((left, message)) = &mut told.failure {
            if *left == 0 {
                return Err(EmbedError(message.clone()));
            }
            *left -= 1;
        }
        told.asked.push(texts.to_vec());
        Ok(texts.iter().map(|text| hashed(text, told.boxes)).collect())
    }
}

/// How many words are in each box. A text without words is in the first.
pub fn hashed(text: &str, boxes: usize) -> Vec<f64> {
    let text = text.to_lowercase();
    let mut counts = vec![0.0; boxes];
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    for word in text.split(|c| !is_word(c)).filter(|word| !word.is_empty()) {
        let first_byte = usize::from_str_radix(&hash_text(word)[..2], 16).unwrap_or(0);
        counts[first_byte % boxes] += 1.0;
    }
    if counts.iter().all(|count| *count == 0.0) {
        counts[0] = 1.0;
    }
    counts
}
