//! What there is to tell about an index (`memory.md` §12).

use serde_json::json;
use yabby_domain::json::{Object, Value, number};
use yabby_domain::seam::embedder::{Embedder, EmbeddingJobs, JobsState};

use super::files::Source;
use super::index::{CompatIndex, IndexError};
use super::store::Part;
use crate::settings::BatchSettings;

/// So many failures turn the providers' queues off.
const BATCH_FAILURES: u32 = 2;

#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub files: u64,
    pub chunks: u64,
    /// Something is known to have changed, and not indexed.
    pub dirty: bool,
    pub workspace_dir: String,
    pub db_path: String,
    pub provider: String,
    pub model: String,
    pub requested_provider: String,
    pub sources: Vec<Source>,
    pub extra_paths: Vec<String>,
    pub source_counts: Vec<SourceCount>,
    /// How many vectors are cached; `None` if none are kept.
    pub cache_entries: Option<u64>,
    pub cache_max_entries: Option<f64>,
    pub words: Part,
    pub fallback: Option<FallbackStatus>,
    pub vector: VectorStatus,
    pub batch: BatchSettings,
    pub jobs: JobsState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceCount {
    pub source: Source,
    pub files: u64,
    pub chunks: u64,
}

/// Whom the provider stands in for, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FallbackStatus {
    pub from: String,
    pub reason: String,
}

/// Who embeds, and whom they stand in for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmbeddedBy {
    pub provider: String,
    pub model: String,
    pub fallback: Option<FallbackStatus>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorStatus {
    pub enabled: bool,
    /// `None` as long as nobody has used them.
    pub available: Option<bool>,
    pub error: Option<String>,
    pub dims: Option<usize>,
}

impl CompatIndex {
    pub async fn status(&self) -> Result<Status, IndexError> {
        let settings = &self.shared.settings;
        let sources = settings.sources.clone();
        let (source_counts, entries, words, vectors, dims) = self
            .shared
            .with_store(move |store| {
                let count = |source: &Source| {
                    let counts = store.counts(*source)?;
                    Ok(SourceCount { source: *source, files: counts.files, chunks: counts.chunks })
                };
                let counts = sources.iter().map(count).collect::<Result<Vec<_>, _>>()?;
                let dims = store.meta()?.and_then(|meta| meta.vector_dims).or(store.dims());
                Ok((counts, store.cache_entries()?, store.words().clone(), store.vectors().clone(), dims))
            })
            .await?;
        let work = self.shared.work();
        let embedder = &work.embedders.chosen;
        let fallback = work.embedders.stands_in_for.clone();
        Ok(Status {
            files: source_counts.iter().map(|count| count.files).sum(),
            chunks: source_counts.iter().map(|count| count.chunks).sum(),
            dirty: work.dirty || !work.dirty_sessions.is_empty(),
            workspace_dir: self.shared.places.workspace.display().to_string(),
            db_path: settings.store.path.clone(),
            provider: embedder.provider().to_owned(),
            model: embedder.model().to_owned(),
            requested_provider: settings.provider.as_str().to_owned(),
            sources: settings.sources.clone(),
            extra_paths: settings.extra_paths.clone(),
            source_counts,
            cache_entries: settings.cache.enabled.then_some(entries),
            cache_max_entries: settings.cache.max_entries,
            words,
            fallback: fallback.map(|(from, reason)| FallbackStatus { from, reason }),
            vector: VectorStatus {
                enabled: settings.store.vector,
                available: work.vectors_used.then_some(vectors.is_ready()),
                dims: dims.filter(|_| settings.store.vector),
                error: match vectors {
                    Part::Unavailable(problem) => Some(problem),
                    Part::Off | Part::Ready => None,
                },
            },
            batch: settings.batch(),
            jobs: jobs_of(Some(&**embedder), settings.batch()),
        })
    }
}

impl CompatIndex {
    /// Who embeds what is indexed.
    pub fn embedded_by(&self) -> EmbeddedBy {
        let work = self.shared.work();
        let fallback = work.embedders.stands_in_for.clone();
        EmbeddedBy {
            provider: work.embedders.chosen.provider().to_owned(),
            model: work.embedders.chosen.model().to_owned(),
            fallback: fallback.map(|(from, reason)| FallbackStatus { from, reason }),
        }
    }
}

impl Status {
    /// As `memory status --json` shows it.
    pub fn to_json(&self) -> Value {
        let count = |count: &SourceCount| json!({"source": count.source.as_str(), "files": count.files, "chunks": count.chunks});
        let mut shown = json!({
            "files": self.files,
            "chunks": self.chunks,
            "dirty": self.dirty,
            "workspaceDir": self.workspace_dir,
            "dbPath": self.db_path,
            "provider": self.provider,
            "model": self.model,
            "requestedProvider": self.requested_provider,
            "sources": self.sources.iter().map(|source| source.as_str()).collect::<Vec<_>>(),
            "extraPaths": self.extra_paths,
            "sourceCounts": self.source_counts.iter().map(count).collect::<Vec<_>>(),
            "cache": present([
                ("enabled", Some(self.cache_entries.is_some().into())),
                ("entries", self.cache_entries.map(Value::from)),
                ("maxEntries", self.cache_max_entries.map(number)),
            ]),
            "fts": present([
                ("enabled", Some((self.words != Part::Off).into())),
                ("available", Some(self.words.is_ready().into())),
                ("error", match &self.words {
                    Part::Unavailable(problem) => Some(problem.as_str().into()),
                    Part::Off | Part::Ready => None,
                }),
            ]),
        });
        if let Some(fallback) = &self.fallback {
            shown["fallback"] = json!({"from": fallback.from, "reason": fallback.reason});
        }
        shown["vector"] = present([
            ("enabled", Some(self.vector.enabled.into())),
            ("available", self.vector.available.map(Value::from)),
            ("extensionPath", self.vector.enabled.then(|| EXTENSION.into())),
            ("loadError", self.vector.error.as_deref().map(Value::from)),
            ("dims", self.vector.dims.map(Value::from)),
        ]);
        shown["batch"] = json!({
            "enabled": self.jobs.enabled,
            "failures": self.jobs.failures,
            "limit": self.jobs.limit,
            "wait": self.batch.wait,
            "concurrency": number(self.batch.concurrency),
            "pollIntervalMs": number(self.batch.poll_interval_ms),
            "timeoutMs": number(self.batch.timeout_minutes * 60_000.0),
        });
        shown
    }
}

/// How it stands with the provider's jobs, as the reference tells it.
pub fn jobs_of(embedder: Option<&dyn Embedder>, batch: BatchSettings) -> JobsState {
    let state = embedder.and_then(Embedder::jobs).map(EmbeddingJobs::state);
    // Jobs that nobody waits for are never begun, and cannot fail.
    let are_off = state.is_some_and(|state| batch.wait && !state.enabled);
    JobsState {
        enabled: batch.enabled && !are_off,
        failures: state.map_or(0, |state| state.failures),
        limit: BATCH_FAILURES,
    }
}

/// Where the reference names the file of its extension.
const EXTENSION: &str = "built in";

/// An object of the members that there are.
fn present<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect::<Object>().into()
}
