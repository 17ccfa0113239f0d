//! The reference's index of one agent, at work.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use yabby_domain::id::AgentId;
use yabby_domain::seam::embedder::{EmbedError, Embedder};

use super::deltas::{self, Delta};
use super::embedding::{self, Embedders};
use super::files;
use super::reading::{self, Lines, ReadError, Reading};
use super::store::{Parts, Store, StoreError};
use crate::settings::Settings;

/// Whose memory it is, and where that is.
#[derive(Clone, Debug)]
pub struct Places {
    pub agent: AgentId,
    /// Absolute.
    pub workspace: PathBuf,
    /// Where the agent's transcripts are.
    pub sessions: PathBuf,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum IndexError {
    #[error(transparent)]
    Embedding(#[from] EmbedError),
    #[error("{0}")]
    Store(Arc<StoreError>),
    /// The work ended before it was done: the program is about to end, or a part of it failed.
    #[error("the memory index was not brought up to date: the work on it was interrupted")]
    Interrupted,
}

impl From<StoreError> for IndexError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}

impl IndexError {
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_damage())
    }
}

/// The index of an agent. Clones share it.
#[derive(Clone)]
pub struct CompatIndex {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) places: Places,
    pub(super) settings: Settings,
    pub(super) store: StoreHandle,
    /// What is known about the files and not in the index; taken for a few lines at a time.
    work: Mutex<Work>,
}

/// What is to be done, and who does it.
pub(super) struct Work {
    /// Notes may have changed. At first nobody knows, so they may have.
    pub(super) dirty: bool,
    /// Transcripts that have changed.
    pub(super) dirty_sessions: BTreeSet<PathBuf>,
    pub(super) deltas: HashMap<PathBuf, Delta>,
    pub(super) embedders: Embedders,
    /// The sync that runs, for others to wait for.
    pub(super) running: Option<watch::Receiver<Option<Result<(), IndexError>>>>,
    /// The conversations whose start was a reason to look for changes.
    pub(super) warmed: HashSet<String>,
    /// Whether the vectors were used since the index was opened: the reference tells no sooner.
    pub(super) vectors_used: bool,
}

impl CompatIndex {
    /// Opens the index of an agent, or begins one. Nothing is indexed yet.
    pub async fn open(places: Places, settings: Settings, embedders: Embedders) -> Result<Self, IndexError> {
        let (path, parts) = (PathBuf::from(&settings.store.path), Parts::of(&settings));
        let store = StoreHandle::open(move || Store::open_or_begin(&path, parts)).await?;
        let work = Work {
            dirty: true,
            dirty_sessions: BTreeSet::new(),
            deltas: HashMap::new(),
            embedders,
            running: None,
            warmed: HashSet::new(),
            vectors_used: false,
        };
        Ok(Self { shared: Arc::new(Shared { places, settings, store, work: Mutex::new(work) }) })
    }

    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Notes have changed, or may have.
    pub fn mark_dirty(&self) {
        self.shared.work().dirty = true;
    }

    /// A transcript has changed, and is indexed at the next occasion however little it grew.
    pub fn mark_session_dirty(&self, transcript: &Path) {
        self.shared.work().dirty_sessions.insert(transcript.to_owned());
    }

    /// Every transcript may have changed.
    pub async fn mark_sessions_dirty(&self) -> Result<(), IndexError> {
        let folder = self.shared.places.sessions.clone();
        let all = blocking(move || files::transcripts(&folder)).await?;
        self.shared.work().dirty_sessions.extend(all);
        Ok(())
    }

    /// A transcript was written: whether it has grown so much that it is time for a sync. Transcripts of
    /// others are none of our business.
    pub async fn session_grew(&self, transcript: &Path) -> Result<bool, IndexError> {
        if !transcript.starts_with(&self.shared.places.sessions) {
            return Ok(false);
        }
        let (file, threshold) = (transcript.to_owned(), self.shared.settings.sync.sessions);
        let mut delta = self.shared.work().deltas.get(transcript).copied().unwrap_or_default();
        let grown = blocking(move || {
            let mut opened = files::open(&file)?;
            let size = opened.metadata()?.len();
            let is_due =
                delta.grew(size, threshold, |from, to| deltas::count_lines(&mut opened, from, to))?;
            Ok::<_, std::io::Error>((delta, is_due))
        })
        .await?;
        // A transcript that is gone is found out by the next sync.
        let Ok((delta, is_due)) = grown else { return Ok(false) };
        let mut work = self.shared.work();
        work.deltas.insert(transcript.to_owned(), delta);
        if is_due {
            work.dirty_sessions.insert(transcript.to_owned());
        }
        Ok(is_due)
    }

    /// Lines of a memory file.
    pub async fn read(&self, path: &str, lines: Lines) -> Result<Reading, ReadError> {
        let workspace = self.shared.places.workspace.clone();
        let (extra, path) = (self.shared.settings.extra_paths.clone(), path.to_owned());
        blocking(move || reading::read(&workspace, &extra, &path, lines))
            .await
            .unwrap_or_else(|interrupted| Err(ReadError::System(interrupted.to_string())))
    }

    /// Whether the provider answers; the error says why not.
    pub async fn probe_embeddings(&self) -> Result<(), IndexError> {
        let embedder = self.shared.embedder();
        embedding::batch(&*embedder, &["ping".to_owned()]).await?;
        Ok(())
    }

    /// Whether vectors are searched with the extension.
    pub async fn probe_vectors(&self) -> Result<bool, IndexError> {
        let is_ready = self.shared.with_store(|store| Ok(store.vectors().is_ready())).await?;
        self.shared.work().vectors_used = true;
        Ok(is_ready)
    }
}

impl Shared {
    pub(super) fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn embedder(&self) -> Arc<dyn Embedder> {
        Arc::clone(&self.work().embedders.chosen)
    }

    /// Does something with the index that others see. A damaged one is set aside, and everything has to be
    /// indexed again.
    pub(super) async fn with_store<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, IndexError> {
        let done = self
            .store
            .with(|store| {
                let is_another = store.follow()?;
                let done = act(store);
                if done.as_ref().is_err_and(StoreError::is_damage) {
                    tracing::warn!("{} is damaged and set aside", store.path().display());
                    store.begin_anew()?;
                }
                Ok((is_another, done))
            })
            .await?;
        let (is_another, done) = done;
        if is_another || done.as_ref().is_err_and(StoreError::is_damage) {
            self.work().dirty = true;
        }
        Ok(done?)
    }
}

/// An open index that is used from threads that may wait for the disk.
#[derive(Clone)]
pub(super) struct StoreHandle(Arc<Mutex<Store>>);

impl StoreHandle {
    pub(super) async fn open(
        open: impl FnOnce() -> Result<Store, StoreError> + Send + 'static,
    ) -> Result<Self, IndexError> {
        let store = blocking(open).await??;
        Ok(Self(Arc::new(Mutex::new(store))))
    }

    pub(super) async fn with<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, IndexError> {
        let store = Arc::clone(&self.0);
        let done = blocking(move || act(&mut store.lock().unwrap_or_else(PoisonError::into_inner))).await?;
        Ok(done?)
    }

    /// The index itself, if nobody else has it any more.
    pub(super) fn into_store(self) -> Result<Store, IndexError> {
        let store = Arc::into_inner(self.0).ok_or(IndexError::Interrupted)?;
        Ok(store.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

pub(super) async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> T + Send + 'static,
) -> Result<T, IndexError> {
    tokio::task::spawn_blocking(act).await.map_err(|_| IndexError::Interrupted)
}
