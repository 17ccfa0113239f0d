//! `memorySearch`: the search over memory files and past sessions.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{Fraction, NonNegativeInteger, PositiveInteger};
use crate::sections::word::Word;

/// The search over memory files and past sessions.
#[section]
pub struct MemorySearch {
    /// Whether there is a search.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// What is searched. Default: memory.
    pub sources: Option<Vec<MemorySource>>,
    /// More files and folders to search.
    pub extra_paths: Option<Vec<String>>,
    #[serde(default)]
    pub experimental: MemoryExperiments,
    /// Who computes embeddings. Default: whoever there is a key for.
    pub provider: Option<Word<EmbeddingProvider>>,
    /// Embeddings by a service.
    #[serde(default)]
    pub remote: RemoteEmbeddings,
    /// Who else may compute them. Default: none.
    pub fallback: Option<Word<EmbeddingFallback>>,
    /// The embedding model. Default: the provider's usual one.
    pub model: Option<String>,
    /// Embeddings on this machine.
    #[serde(default)]
    pub local: LocalEmbeddings,
    /// Where the index is.
    #[serde(default)]
    pub store: MemoryIndexStore,
    /// How files are cut.
    #[serde(default)]
    pub chunking: MemoryChunking,
    /// When the index follows the files.
    #[serde(default)]
    pub sync: MemorySync,
    /// How many results there are, and how they are ranked.
    #[serde(default)]
    pub query: MemoryQuery,
    /// Whether embeddings are kept.
    #[serde(default)]
    pub cache: EmbeddingCache,
}

/// What may change.
#[section]
pub struct MemoryExperiments {
    /// Whether past sessions are searched.
    #[config(default = false)]
    pub session_memory: Option<bool>,
}

/// Embeddings by a service.
#[section]
pub struct RemoteEmbeddings {
    /// Where it is reached.
    pub base_url: Option<String>,
    /// Its key.
    pub api_key: Option<String>,
    /// Headers for every request.
    pub headers: Option<Map<String>>,
    /// Many texts in one job.
    #[serde(default)]
    pub batch: EmbeddingBatches,
}

/// Many texts in one job.
#[section]
pub struct EmbeddingBatches {
    /// Whether jobs are used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Whether a job is waited for.
    #[config(default = true)]
    pub wait: Option<bool>,
    /// How many jobs run at once.
    #[config(default = 2)]
    pub concurrency: Option<PositiveInteger>,
    /// How often a job is asked for.
    #[config(default = 2000)]
    pub poll_interval_ms: Option<NonNegativeInteger>,
    /// How long a job may take.
    #[config(default = 60)]
    pub timeout_minutes: Option<PositiveInteger>,
}

/// Embeddings on this machine.
#[section]
pub struct LocalEmbeddings {
    /// The model's file.
    pub model_path: Option<String>,
    /// Where models are kept.
    pub model_cache_dir: Option<String>,
}

/// Where the index is.
#[section]
pub struct MemoryIndexStore {
    pub driver: Option<Word<MemoryIndexDriver>>,
    /// Its file. Default: `<state>/memory/{agentId}.sqlite`.
    pub path: Option<String>,
    /// The database's extension for vectors.
    #[serde(default)]
    pub vector: VectorExtension,
}

/// The database's extension for vectors.
#[section]
pub struct VectorExtension {
    /// Whether it is used.
    #[config(default = true)]
    pub enabled: Option<bool>,
    pub extension_path: Option<String>,
}

/// How files are cut.
#[section]
pub struct MemoryChunking {
    /// How long a piece is.
    #[config(default = 400)]
    pub tokens: Option<PositiveInteger>,
    /// How much two pieces share.
    #[config(default = 80)]
    pub overlap: Option<NonNegativeInteger>,
}

/// When the index follows the files.
#[section]
pub struct MemorySync {
    /// When a session starts.
    #[config(default = true)]
    pub on_session_start: Option<bool>,
    /// When something is searched.
    #[config(default = true)]
    pub on_search: Option<bool>,
    /// When a file changes.
    #[config(default = true)]
    pub watch: Option<bool>,
    /// How long a file must be quiet.
    #[config(default = 1500)]
    pub watch_debounce_ms: Option<NonNegativeInteger>,
    /// Every so many minutes; 0 is never.
    #[config(default = 0)]
    pub interval_minutes: Option<NonNegativeInteger>,
    /// How much a session must grow.
    #[serde(default)]
    pub sessions: SessionDeltas,
}

/// How much a session must grow to be indexed again.
#[section]
pub struct SessionDeltas {
    /// By this many bytes.
    #[config(default = 100000)]
    pub delta_bytes: Option<NonNegativeInteger>,
    /// Or by this many messages.
    #[config(default = 50)]
    pub delta_messages: Option<NonNegativeInteger>,
}

/// How many results there are, and how they are ranked.
#[section]
pub struct MemoryQuery {
    /// At most this many.
    #[config(default = 6)]
    pub max_results: Option<PositiveInteger>,
    /// Only those at least this good.
    #[config(default = 0.35)]
    pub min_score: Option<Fraction>,
    /// Meaning and words together.
    #[serde(default)]
    pub hybrid: HybridQuery,
}

/// Ranking by meaning and by words together.
#[section]
pub struct HybridQuery {
    /// Whether words count.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// How much meaning counts.
    #[config(default = 0.7)]
    pub vector_weight: Option<Fraction>,
    /// How much words count.
    #[config(default = 0.3)]
    pub text_weight: Option<Fraction>,
    /// How many more are looked at than asked for.
    #[config(default = 4)]
    pub candidate_multiplier: Option<PositiveInteger>,
}

/// Embeddings that are kept.
#[section]
pub struct EmbeddingCache {
    /// Whether they are kept.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// How many.
    pub max_entries: Option<PositiveInteger>,
}

/// What is searched.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum MemorySource {
    Memory,
    Sessions,
}

/// Who computes embeddings.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum EmbeddingProvider {
    Openai,
    Local,
    Gemini,
}

/// Who computes embeddings if the first cannot.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum EmbeddingFallback {
    Openai,
    Gemini,
    Local,
    None,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum MemoryIndexDriver {
    Sqlite,
}
