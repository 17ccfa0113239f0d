//! `memorySearch`: the search over memory files and past sessions.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{Fraction, NonNegativeInteger, PositiveInteger};

/// The search over memory files and past sessions.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemorySearch {
    /// Whether there is a search. Default: true.
    pub enabled: Option<bool>,
    /// What is searched. Default: memory.
    pub sources: Option<Vec<MemorySource>>,
    /// More files and folders to search.
    pub extra_paths: Option<Vec<String>>,
    pub experimental: Option<MemoryExperiments>,
    /// Who computes embeddings. Default: whoever there is a key for.
    pub provider: Option<EmbeddingProvider>,
    /// Embeddings by a service.
    pub remote: Option<RemoteEmbeddings>,
    /// Who else may compute them. Default: none.
    pub fallback: Option<EmbeddingFallback>,
    /// The embedding model. Default: the provider's usual one.
    pub model: Option<String>,
    /// Embeddings on this machine.
    pub local: Option<LocalEmbeddings>,
    /// Where the index is.
    pub store: Option<MemoryIndexStore>,
    /// How files are cut.
    pub chunking: Option<MemoryChunking>,
    /// When the index follows the files.
    pub sync: Option<MemorySync>,
    /// How many results there are, and how they are ranked.
    pub query: Option<MemoryQuery>,
    /// Whether embeddings are kept.
    pub cache: Option<EmbeddingCache>,
}

/// What may change.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryExperiments {
    /// Whether past sessions are searched. Default: false.
    pub session_memory: Option<bool>,
}

/// Embeddings by a service.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoteEmbeddings {
    /// Where it is reached.
    pub base_url: Option<String>,
    /// Its key.
    pub api_key: Option<String>,
    /// Headers for every request.
    pub headers: Option<Map<String>>,
    /// Many texts in one job.
    pub batch: Option<EmbeddingBatches>,
}

/// Many texts in one job.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EmbeddingBatches {
    /// Whether jobs are used. Default: true.
    pub enabled: Option<bool>,
    /// Whether a job is waited for. Default: true.
    pub wait: Option<bool>,
    /// How many jobs run at once. Default: 2.
    pub concurrency: Option<PositiveInteger>,
    /// How often a job is asked for. Default: 2000.
    pub poll_interval_ms: Option<NonNegativeInteger>,
    /// How long a job may take. Default: 60.
    pub timeout_minutes: Option<PositiveInteger>,
}

/// Embeddings on this machine.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LocalEmbeddings {
    /// The model's file.
    pub model_path: Option<String>,
    /// Where models are kept.
    pub model_cache_dir: Option<String>,
}

/// Where the index is.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryIndexStore {
    pub driver: Option<MemoryIndexDriver>,
    /// Its file. Default: `<state>/memory/{agentId}.sqlite`.
    pub path: Option<String>,
    /// The database's extension for vectors.
    pub vector: Option<VectorExtension>,
}

/// The database's extension for vectors.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VectorExtension {
    /// Whether it is used. Default: true.
    pub enabled: Option<bool>,
    pub extension_path: Option<String>,
}

/// How files are cut.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryChunking {
    /// How long a piece is. Default: 400.
    pub tokens: Option<PositiveInteger>,
    /// How much two pieces share. Default: 80.
    pub overlap: Option<NonNegativeInteger>,
}

/// When the index follows the files.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemorySync {
    /// When a session starts. Default: true.
    pub on_session_start: Option<bool>,
    /// When something is searched. Default: true.
    pub on_search: Option<bool>,
    /// When a file changes. Default: true.
    pub watch: Option<bool>,
    /// How long a file must be quiet. Default: 1500.
    pub watch_debounce_ms: Option<NonNegativeInteger>,
    /// Every so many minutes; 0 is never. Default: 0.
    pub interval_minutes: Option<NonNegativeInteger>,
    /// How much a session must grow.
    pub sessions: Option<SessionDeltas>,
}

/// How much a session must grow to be indexed again.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionDeltas {
    /// By this many bytes. Default: 100000.
    pub delta_bytes: Option<NonNegativeInteger>,
    /// Or by this many messages. Default: 50.
    pub delta_messages: Option<NonNegativeInteger>,
}

/// How many results there are, and how they are ranked.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryQuery {
    /// At most this many. Default: 6.
    pub max_results: Option<PositiveInteger>,
    /// Only those at least this good. Default: 0.35.
    pub min_score: Option<Fraction>,
    /// Meaning and words together.
    pub hybrid: Option<HybridQuery>,
}

/// Ranking by meaning and by words together.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HybridQuery {
    /// Whether words count. Default: true.
    pub enabled: Option<bool>,
    /// How much meaning counts. Default: 0.7.
    pub vector_weight: Option<Fraction>,
    /// How much words count. Default: 0.3.
    pub text_weight: Option<Fraction>,
    /// How many more are looked at than asked for. Default: 4.
    pub candidate_multiplier: Option<PositiveInteger>,
}

/// Embeddings that are kept.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EmbeddingCache {
    /// Whether they are kept. Default: true.
    pub enabled: Option<bool>,
    /// How many.
    pub max_entries: Option<PositiveInteger>,
}

/// What is searched.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum MemorySource {
    Memory,
    Sessions,
}

/// Who computes embeddings.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum EmbeddingProvider {
    Openai,
    Local,
    Gemini,
}

/// Who computes embeddings if the first cannot.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum EmbeddingFallback {
    Openai,
    Gemini,
    Local,
    None,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum MemoryIndexDriver {
    Sqlite,
}
