//! The door to whoever turns texts into vectors whose nearness is nearness of meaning (`memory.md` §5).

use std::collections::HashMap;

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

    /// Texts whose vectors are no more alike than this have nothing to do with each other.
    fn least_likeness(&self) -> f32 {
        0.0
    }

    /// Who takes whole jobs, if the provider does.
    fn jobs(&self) -> Option<&dyn EmbeddingJobs> {
        None
    }
}

/// Jobs: many texts at once, for a provider to embed when it has time (`memory.md` §5.3).
#[async_trait]
pub trait EmbeddingJobs: Send + Sync {
    /// The vectors of texts by the names that these have been given. It may last an hour. Where there are
    /// no more jobs, or one has failed, the texts are asked for by plain requests.
    async fn run(&self, job: &Job) -> Result<HashMap<String, Vec<f64>>, EmbedError>;

    fn state(&self) -> JobsState;
}

/// Texts for a provider to embed when it has time (`memory.md` §5.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// `memory` or `sessions`, and the agent whose they are: the provider shows both to whoever pays.
    pub source: String,
    pub agent: String,
    /// Each with its own name (`custom_id`).
    pub texts: Vec<(String, String)>,
}

/// How it stands with jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobsState {
    /// They are wanted, and have not failed too often.
    pub enabled: bool,
    /// In a row.
    pub failures: u32,
    /// So many turn them off.
    pub limit: u32,
}

/// Why there is no vector. The text is what people read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EmbedError(pub String);
