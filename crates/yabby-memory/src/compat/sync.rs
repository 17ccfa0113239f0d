//! Bringing the index up to date (`memory.md` §4).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use yabby_domain::id::AgentId;
use yabby_domain::seam::embedder::{Embedder, Job};
use yabby_domain::text;

use super::chunking::{self, Chunk};
use super::deltas::Delta;
use super::embedding;
use super::files::{self, Document, Source};
use super::index::{CompatIndex, IndexError, Shared, StoreHandle, blocking};
use super::keys;
use super::store::{CacheKey, Draft, IndexedChunk, Meta, Parts, Store, StoreError};

/// Why the index is brought up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Somebody asked for it.
    Manual,
    SessionStart,
    Search,
    Watch,
    Interval,
    /// Transcripts have grown.
    SessionDelta,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub source: Source,
    pub done: usize,
    pub total: usize,
}

/// So many files are indexed at once.
const FILES_AT_ONCE: usize = 4;

/// Who is told how far it is.
pub type ProgressListener = Arc<dyn Fn(Progress) + Send + Sync>;

impl CompatIndex {
    /// Brings the index up to date. Whoever comes while that is being done gets its result.
    ///
    /// The work goes on if the caller stops waiting.
    pub async fn sync(
        &self,
        reason: Reason,
        force: bool,
        progress: Option<ProgressListener>,
    ) -> Result<(), IndexError> {
        let mut result = self.shared.begin(Run { reason, force, progress });
        let done = result.wait_for(Option::is_some).await.map_err(|_| IndexError::Interrupted)?;
        done.clone().unwrap_or(Err(IndexError::Interrupted))
    }

    /// The same, with nobody waiting.
    pub(super) fn sync_in_background(&self, reason: Reason) {
        drop(self.shared.begin(Run { reason, force: false, progress: None }));
    }
}

struct Run {
    reason: Reason,
    force: bool,
    progress: Option<ProgressListener>,
}

impl Run {
    /// Transcripts are left for later where somebody waits for an answer, or notes have changed.
    fn is_for_notes_only(&self) -> bool {
        !self.force && matches!(self.reason, Reason::SessionStart | Reason::Watch)
    }
}

/// Where the rows go, and whose vectors they have.
#[derive(Clone)]
struct Target {
    store: StoreHandle,
    embedder: Arc<dyn Embedder>,
    /// Everything is indexed, whatever was before.
    is_new: bool,
}

impl Shared {
    /// Begins a sync unless one is running, which is as good.
    fn begin(self: &Arc<Self>, run: Run) -> watch::Receiver<Option<Result<(), IndexError>>> {
        let mut work = self.work();
        if let Some(running) = &work.running {
            return running.clone();
        }
        let (sender, receiver) = watch::channel(None);
        work.running = Some(receiver.clone());
        drop(work);
        let shared = Arc::clone(self);
        tokio::spawn(async move {
            // Taken back even if the work fails in a way that nobody foresaw.
            let running = Running(&shared);
            let done = shared.bring_up_to_date(&run).await;
            if let Err(error) = &done {
                tracing::warn!("memory sync ({:?}) failed: {error}", run.reason);
            }
            drop(running);
            // Nobody need be listening.
            let _ = sender.send(Some(done));
        });
        receiver
    }

    async fn bring_up_to_date(&self, run: &Run) -> Result<(), IndexError> {
        let done = match self.sync_once(run).await {
            // The damaged file is out of the way by now.
            Err(error) if error.is_damage() => self.sync_once(run).await,
            done => done,
        };
        match done {
            Err(error) if self.switch_to_fallback(&error) => self.reindex(run).await,
            done => done,
        }
    }

    /// Once, and only where the provider is to blame.
    fn switch_to_fallback(&self, error: &IndexError) -> bool {
        let reason = error.to_string();
        if !embedding::calls_for_fallback(&reason) {
            return false;
        }
        let mut work = self.work();
        let failed = work.embedders.chosen.provider().to_owned();
        let fallback = work.embedders.fallback.take_if(|other| other.provider() != failed);
        let Some(fallback) = fallback.filter(|_| work.embedders.stands_in_for.is_none()) else {
            return false;
        };
        tracing::warn!(
            "embeddings of {failed} failed; {} is asked from now on: {reason}",
            fallback.provider()
        );
        work.embedders.chosen = fallback;
        work.embedders.stands_in_for = Some((failed, reason));
        true
    }

    async fn sync_once(&self, run: &Run) -> Result<(), IndexError> {
        let embedder = self.embedder();
        let wanted = self.meta(&*embedder);
        let is_usable = self
            .with_store(move |store| {
                let Some(meta) = store.meta()? else { return Ok(false) };
                let dims = meta.vector_dims;
                let has_vectors = dims.is_some() || !store.vectors().is_ready();
                let is_ours = Meta { vector_dims: None, ..meta } == wanted;
                if !is_ours || !has_vectors {
                    return Ok(false);
                }
                match store.mend_vectors(dims) {
                    Ok(()) => Ok(true),
                    // What cannot be mended is built again, which costs little as the vectors are cached.
                    Err(StoreError::Database { .. }) => Ok(false),
                    Err(error) => Err(error),
                }
            })
            .await?;
        self.work().vectors_used = true;
        if run.force || !is_usable {
            return self.reindex(run).await;
        }
        let target = Target { store: self.store.clone(), embedder, is_new: false };
        if self.indexes(Source::Memory) && std::mem::take(&mut self.work().dirty) {
            self.sync_notes(run, &target).await.inspect_err(|_| self.work().dirty = true)?;
        }
        if self.indexes(Source::Sessions) && !run.is_for_notes_only() {
            let dirty = std::mem::take(&mut self.work().dirty_sessions);
            if !dirty.is_empty() {
                self.sync_sessions(run, &target, Some(&dirty))
                    .await
                    .inspect_err(|_| self.work().dirty_sessions.extend(dirty.iter().cloned()))?;
            }
        }
        Ok(())
    }

    /// Indexes everything into a new file, and puts it in the place of the old one at the end. Until then,
    /// and if anything fails, the old one stays.
    async fn reindex(&self, run: &Run) -> Result<(), IndexError> {
        let path = PathBuf::from(&self.settings.store.path);
        let parts = Parts::of(&self.settings);
        let keep_cache = self.settings.cache.enabled;
        let draft = Arc::new(Draft::beside(&path));
        let (new, old) = (Arc::clone(&draft), path.clone());
        let store = StoreHandle::open(move || {
            let mut store = Store::begin(&new, parts)?;
            if keep_cache && let Err(problem) = store.take_cache_of(&old) {
                tracing::warn!("the cached embeddings of {} could not be read: {problem}", old.display());
            }
            Ok(store)
        })
        .await?;
        let target = Target { store, embedder: self.embedder(), is_new: true };
        let filled = self.fill(run, &target).await;
        let Target { store, embedder, .. } = target;
        if let Err(error) = filled {
            if keep_cache {
                // What was paid for should not be asked for again.
                let draft = Arc::clone(&draft);
                let kept = self.with_store(move |store| store.take_cache_of(draft.path())).await;
                kept.unwrap_or_else(|problem| tracing::warn!("embeddings could not be kept: {problem}"));
            }
            return Err(error);
        }
        let (meta, most) = (self.meta(&*embedder), self.settings.cache.max_entries);
        let mut store = store.into_store()?;
        self.with_store(move |current| {
            let vector_dims = store.dims().filter(|_| store.vectors().is_ready());
            store.write_meta(&Meta { vector_dims, ..meta })?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
            if let Some(most) = most {
                store.prune_cache(most as u64)?;
            }
            current.replace_with(store)
        })
        .await?;
        // The draft has another name now, or goes away here.
        drop(draft);
        self.work().vectors_used = false;
        Ok(())
    }

    async fn fill(&self, run: &Run, target: &Target) -> Result<(), IndexError> {
        if self.indexes(Source::Memory) {
            self.work().dirty = false;
            self.sync_notes(run, target).await.inspect_err(|_| self.work().dirty = true)?;
        }
        if self.indexes(Source::Sessions) {
            if run.is_for_notes_only() {
                // The new index has none of them: they are for the next time.
                let folder = self.places.sessions.clone();
                let all = blocking(move || files::transcripts(&folder)).await?;
                self.work().dirty_sessions.extend(all);
            } else {
                let dirty = std::mem::take(&mut self.work().dirty_sessions);
                self.sync_sessions(run, target, None)
                    .await
                    .inspect_err(|_| self.work().dirty_sessions.extend(dirty))?;
            }
        }
        Ok(())
    }

    /// So many files are indexed at once.
    fn files_at_once(&self, embedder: &dyn Embedder) -> usize {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        match embedding::jobs(embedder) {
            Some(_) => (self.settings.batch().concurrency as usize).max(1),
            None => FILES_AT_ONCE,
        }
    }

    fn indexes(&self, source: Source) -> bool {
        self.settings.sources.contains(&source)
    }

    /// What an index of today is made with.
    fn meta(&self, embedder: &dyn Embedder) -> Meta {
        Meta {
            model: embedder.model().to_owned(),
            provider: embedder.provider().to_owned(),
            provider_key: embedder.provider_key(),
            chunking: self.settings.chunking,
            vector_dims: None,
        }
    }

    async fn sync_notes(&self, run: &Run, target: &Target) -> Result<(), IndexError> {
        let (workspace, extra) = (self.places.workspace.clone(), self.settings.extra_paths.clone());
        let listed = blocking(move || files::memory_files(&workspace, &extra)).await?;
        let workspace = self.places.workspace.clone();
        let names = listed.iter().map(|file| files::memory_name(file, &workspace)).collect();
        let read = move |file: &Path| files::note(file, &workspace);
        self.sync_files(run, target, Source::Memory, listed, names, read).await.map(|_| ())
    }

    /// Transcripts that nobody has seen changing are left alone.
    async fn sync_sessions(
        &self,
        run: &Run,
        target: &Target,
        dirty: Option<&BTreeSet<PathBuf>>,
    ) -> Result<(), IndexError> {
        let folder = self.places.sessions.clone();
        let mut listed = blocking(move || files::transcripts(&folder)).await?;
        let names = listed.iter().map(|file| files::transcript_name(file)).collect();
        if let Some(dirty) = dirty {
            listed.retain(|file| dirty.contains(file));
        }
        let sizes = self.sync_files(run, target, Source::Sessions, listed, names, files::transcript).await?;
        let indexed = sizes.into_iter().map(|(file, size)| (file, Delta::indexed(size)));
        self.work().deltas.extend(indexed);
        Ok(())
    }

    /// Indexes the files that have changed, a few at once, and takes out those that are gone. The first
    /// error is the result, after what had begun has ended. Returns how long the files were.
    async fn sync_files<R>(
        &self,
        run: &Run,
        target: &Target,
        source: Source,
        listed: Vec<PathBuf>,
        names: HashSet<String>,
        read: R,
    ) -> Result<Vec<(PathBuf, u64)>, IndexError>
    where
        R: Fn(&Path) -> io::Result<Document> + Clone + Send + 'static,
    {
        let known = Arc::new(target.store.with(move |store| store.files(source)).await?);
        let total = listed.len();
        let mut running = JoinSet::new();
        let mut waiting = listed.into_iter();
        let mut last_turn: Option<oneshot::Receiver<()>> = None;
        let mut ended = Ended { progress: run.progress.clone(), source, total, sizes: Vec::new() };
        let result = loop {
            while running.len() < self.files_at_once(&*target.embedder)
                && let Some(file) = waiting.next()
            {
                let job = FileJob {
                    agent: self.places.agent.clone(),
                    target: target.clone(),
                    known: Arc::clone(&known),
                    chunking: self.settings.chunking,
                    cache: self.settings.cache.enabled,
                };
                let read = read.clone();
                let (done, next_turn) = oneshot::channel();
                let mut turn = Turn { before: last_turn.replace(next_turn), _done: done };
                running.spawn(async move {
                    let size = job.index(&file, read, &mut turn).await;
                    turn.comes().await;
                    Ok((file, size?))
                });
            }
            match running.join_next().await {
                None => break Ok(()),
                Some(done) => {
                    if let Err(error) = ended.take(done.unwrap_or(Err(IndexError::Interrupted))) {
                        break Err(error);
                    }
                }
            }
        };
        while running.join_next().await.is_some() {}
        result?;
        let gone: Vec<String> = known.keys().filter(|path| !names.contains(*path)).cloned().collect();
        if !gone.is_empty() {
            target
                .store
                .with(move |store| gone.iter().try_for_each(|path| store.remove_file(path, source)))
                .await?;
        }
        Ok(ended.sizes)
    }
}

/// What has been done of a source.
struct Ended {
    progress: Option<ProgressListener>,
    source: Source,
    total: usize,
    sizes: Vec<(PathBuf, u64)>,
}

impl Ended {
    fn take(&mut self, done: Result<(PathBuf, u64), IndexError>) -> Result<(), IndexError> {
        self.sizes.push(done?);
        if let Some(progress) = &self.progress {
            progress(Progress { source: self.source, done: self.sizes.len(), total: self.total });
        }
        Ok(())
    }
}

/// When a file may be written: after those that are listed before it. What ties in a search stands in the
/// order in which it was written, and that should not be chance.
struct Turn {
    before: Option<oneshot::Receiver<()>>,
    /// The next one's turn comes when this is dropped.
    _done: oneshot::Sender<()>,
}

impl Turn {
    async fn comes(&mut self) {
        if let Some(before) = self.before.take() {
            // Nobody sends anything: that the other end is gone says it.
            let _ = before.await;
        }
    }
}

/// What one file needs to be indexed.
struct FileJob {
    /// Whose memory it is.
    agent: AgentId,
    target: Target,
    /// The files that are indexed, with their hashes.
    known: Arc<HashMap<String, String>>,
    chunking: crate::settings::Chunking,
    cache: bool,
}

impl FileJob {
    /// Indexes a file unless it is as it was. Returns its size.
    async fn index(
        self,
        file: &Path,
        read: impl FnOnce(&Path) -> io::Result<Document> + Send + 'static,
        turn: &mut Turn,
    ) -> Result<u64, IndexError> {
        let path = file.to_owned();
        let document = match blocking(move || read(&path)).await? {
            Ok(document) => document,
            // It is gone, or may not be read now: what was indexed of it stays until it is not listed.
            Err(problem) => {
                tracing::warn!("{} could not be read and is not indexed: {problem}", file.display());
                return Ok(0);
            }
        };
        let size = document.size;
        if !self.target.is_new && self.known.get(&document.path) == Some(&document.hash) {
            return Ok(size);
        }
        let chunking = self.chunking;
        let (document, chunks) = blocking(move || {
            let mut chunks = chunking::chunks(&document.content, chunking);
            chunks.retain(|chunk| text::non_blank(&chunk.text).is_some());
            (document, chunks)
        })
        .await?;
        let chunks = self.embedded(&document, chunks).await?;
        let model = self.target.embedder.model().to_owned();
        turn.comes().await;
        self.target.store.with(move |store| store.put_file(&document, &chunks, &model)).await?;
        Ok(size)
    }

    /// The chunks with their vectors: those that were asked for before, and the others.
    async fn embedded(
        &self,
        document: &Document,
        chunks: Vec<Chunk>,
    ) -> Result<Vec<IndexedChunk>, IndexError> {
        let embedder = &self.target.embedder;
        let key = CacheKey {
            provider: embedder.provider().to_owned(),
            model: embedder.model().to_owned(),
            provider_key: embedder.provider_key(),
        };
        let mut known = HashMap::new();
        if self.cache && !chunks.is_empty() {
            let hashes: Vec<String> = chunks.iter().map(|chunk| chunk.hash.clone()).collect();
            let key = key.clone();
            known = self.target.store.with(move |store| store.cached(&key, &hashes)).await?;
        }
        let missing: Vec<&Chunk> = chunks.iter().filter(|chunk| !known.contains_key(&chunk.hash)).collect();
        let lengths: Vec<usize> = missing.iter().map(|chunk| text::units(&chunk.text)).collect();
        // All of a file is one job for whoever takes jobs.
        let jobs = embedding::jobs(&**embedder).filter(|_| !missing.is_empty());
        let batches = match jobs {
            Some(_) => std::iter::once(0..missing.len()).collect(),
            None => embedding::batches(&lengths),
        };
        for batch in batches {
            let batch = &missing[batch];
            let texts: Vec<String> =
                batch.iter().map(|chunk| text::to_outside(&chunk.text).into_owned()).collect();
            let vectors = match jobs {
                Some(jobs) => embedding::as_job(jobs, &self.job(document, batch, texts)).await?,
                None => embedding::batch(&**embedder, &texts).await?,
            };
            let hashes = batch.iter().map(|chunk| chunk.hash.clone());
            let fresh: Vec<(String, Vec<f64>)> = hashes.zip(vectors).collect();
            known.extend(fresh.iter().cloned());
            if self.cache {
                let key = key.clone();
                self.target.store.with(move |store| store.remember(&key, &fresh)).await?;
            }
        }
        let with_vector = |chunk: Chunk| {
            let vector = known.get(&chunk.hash).cloned().unwrap_or_default();
            IndexedChunk { chunk, vector }
        };
        Ok(chunks.into_iter().map(with_vector).collect())
    }
}

impl FileJob {
    fn job(&self, document: &Document, chunks: &[&Chunk], texts: Vec<String>) -> Job {
        let name = |(index, chunk): (usize, &&Chunk)| {
            let Chunk { start_line, end_line, hash, .. } = chunk;
            keys::job_text_id(document.source, &document.path, *start_line, *end_line, hash, index)
        };
        Job {
            source: document.source.as_str().to_owned(),
            agent: self.agent.as_str().to_owned(),
            texts: chunks.iter().enumerate().map(name).zip(texts).collect(),
        }
    }
}

/// A sync that runs; when it is dropped, another one may.
struct Running<'s>(&'s Shared);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.work().running = None;
    }
}
