//! The door to whoever turns texts into vectors whose nearness is nearness of meaning (`memory.md` §5).

use async_trait::async_trait;

#[async_trait]
pub trait Embedder: Send + Sync {
    /// `openai`, `gemini`, `voyage`, `ollama`, `local`, …
    fn provider(&self) -> &str;

    /// As indexes name it: vectors of two models are never compared.
    fn model(&self) -> &str;

    /// What else decides about the vectors, as a hash (`providerKey`).
    fn provider_key(&self) -> String;

    /// The vector of a question. An empty one if there is nothing to embed.
    async fn query(&self, text: &str) -> Result<Vec<f64>, EmbedError>;

    /// The vectors of texts, in their order; an empty one where there is none.
    async fn documents(&self, texts: &[String]) -> Result<Vec<Vec<f64>>, EmbedError>;
}

/// Why there is no vector. The text is what people read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EmbedError(pub String);
