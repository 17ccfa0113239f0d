//! MISSING agents/memory_search

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{Fraction, NonNegativeInteger, PositiveInteger};

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemorySearch {
    pub enabled: Option<bool>,
    pub sources: Option<Vec<MemorySource>>,
    pub extra_paths: Option<Vec<String>>,
    pub experimental: Option<MemoryExperiments>,
    pub provider: Option<EmbeddingProvider>,
    pub remote: Option<RemoteEmbeddings>,
    pub fallback: Option<EmbeddingFallback>,
    pub model: Option<String>,
    pub local: Option<LocalEmbeddings>,
    pub store: Option<MemoryIndexStore>,
    pub chunking: Option<MemoryChunking>,
    pub sync: Option<MemorySync>,
    pub query: Option<MemoryQuery>,
    pub cache: Option<EmbeddingCache>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryExperiments {
    pub session_memory: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoteEmbeddings {
    pub base_url: Option<String>,
    pub api_key: Option<String>,
    pub headers: Option<Map<String>>,
    pub batch: Option<EmbeddingBatches>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EmbeddingBatches {
    pub enabled: Option<bool>,
    pub wait: Option<bool>,
    pub concurrency: Option<PositiveInteger>,
    pub poll_interval_ms: Option<NonNegativeInteger>,
    pub timeout_minutes: Option<PositiveInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LocalEmbeddings {
    pub model_path: Option<String>,
    pub model_cache_dir: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryIndexStore {
    pub driver: Option<MemoryIndexDriver>,
    pub path: Option<String>,
    pub vector: Option<VectorExtension>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VectorExtension {
    pub enabled: Option<bool>,
    pub extension_path: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryChunking {
    pub tokens: Option<PositiveInteger>,
    pub overlap: Option<NonNegativeInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemorySync {
    pub on_session_start: Option<bool>,
    pub on_search: Option<bool>,
    pub watch: Option<bool>,
    pub watch_debounce_ms: Option<NonNegativeInteger>,
    pub interval_minutes: Option<NonNegativeInteger>,
    pub sessions: Option<SessionDeltas>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionDeltas {
    pub delta_bytes: Option<NonNegativeInteger>,
    pub delta_messages: Option<NonNegativeInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryQuery {
    pub max_results: Option<PositiveInteger>,
    pub min_score: Option<Fraction>,
    pub hybrid: Option<HybridQuery>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HybridQuery {
    pub enabled: Option<bool>,
    pub vector_weight: Option<Fraction>,
    pub text_weight: Option<Fraction>,
    pub candidate_multiplier: Option<PositiveInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EmbeddingCache {
    pub enabled: Option<bool>,
    pub max_entries: Option<PositiveInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum MemorySource {
    Memory,
    Sessions,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum EmbeddingProvider {
    Openai,
    Local,
    Gemini,
}

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
