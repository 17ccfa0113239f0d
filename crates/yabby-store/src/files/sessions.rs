//! The records of an agent's sessions in `sessions.json`, with a journal beside it (`sessions.md` §6).
//!
//! An update is one line in the journal, and durable with it; the store, which OpenClaw reads, follows
//! within a second, a large one within some seconds, and on exit. A thread of its own, the [`keeper`], does
//! all the work on the files of one store; everybody else sends to it. What waits while the disk is busy
//! goes there together.

mod catalog;
mod earlier;
mod fold;
mod journal_file;
mod keeper;
mod lock;
mod mending;
mod mirror;
mod order;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::oneshot;
use yabby_domain::seam::journal::Promise;
use yabby_domain::seam::{
    Change, Choice, Clock, Newest, SelectedRecord, Selection, SessionStore, Stamp, StoreError,
};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::glance::Glance;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::store_cache;

use crate::clock::SystemClock;
use crate::disk::{Disk, Doing, LocalDisk, shown};
use crate::file_state::FileState;
use keeper::reading::older_store;
use keeper::{Found, Keeper, Message, journal_of};
use mirror::Mirror;

pub use earlier::earlier_keys;
pub(crate) use mending::{JournalLook, Look, free_lock, mend};

/// The store of one agent. Dropping the last handle writes `sessions.json` and waits for it.
#[derive(Clone)]
pub struct SessionFile(Arc<Handle>);

struct Handle {
    path: PathBuf,
    /// Everything that records are read from; empty if what was read is never used again.
    sources: Vec<PathBuf>,
    mirror: Arc<Mirror>,
    sender: Sender<Message>,
    keeper: Option<JoinHandle<()>>,
}

/// What a store works with.
#[derive(Clone)]
pub struct Settings {
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    /// How long what was read may be used again while the file looks the same; zero reads every time.
    pub cache_ms: f64,
    /// How long after a change `sessions.json` follows.
    pub follow_after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            disk: Arc::new(LocalDisk),
            clock: Arc::new(SystemClock),
            cache_ms: store_cache::lifetime_ms(None),
            follow_after: Duration::from_millis(500),
        }
    }
}

impl Settings {
    /// With the lifetime that `OPENCLAW_SESSION_CACHE_TTL_MS` asks for.
    pub fn from_environment() -> Self {
        let setting = std::env::var("OPENCLAW_SESSION_CACHE_TTL_MS").ok();
        Self { cache_ms: store_cache::lifetime_ms(setting.as_deref()), ..Self::default() }
    }
}

/// Something that a person should know about a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice(pub String);

impl SessionFile {
    /// The store in the file of this path, which need not exist. Nothing is read or written before the
    /// first question.
    pub fn open(path: impl Into<PathBuf>, settings: Settings) -> Result<Self, StoreError> {
        let path = path.into();
        // Whoever changes the current folder later does not mean this store.
        let path = std::path::absolute(&path).doing("resolve", &path)?;
        let (sender, receiver) = mpsc::channel();
        let sources = match settings.cache_ms > 0.0 {
            true => [path.clone(), journal_of(&path)].into_iter().chain(older_store(&path)).collect(),
            false => Vec::new(),
        };
        let keeper = Keeper::new(path.clone(), settings, sender.clone());
        let mirror = keeper.mirror();
        let named = thread::Builder::new().name("session store".to_owned());
        let keeper = named.spawn(move || keeper.run(&receiver));
        let keeper = keeper.doing("start a thread for", &path)?;
        Ok(Self(Arc::new(Handle { path, sources, mirror, sender, keeper: Some(keeper) })))
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What came up since this was last asked.
    pub fn notices(&self) -> Result<Vec<Notice>, StoreError> {
        self.blocking(|reply| Message::Notices { reply })
            .map(|notices| notices.into_iter().map(Notice).collect())
    }

    /// Writes `sessions.json` now if the journal holds anything that it does not.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.blocking(|reply| Message::Flush { reply })?
    }

    /// Lets go of the store without holding up a runtime. Dropping the last handle waits for the disk.
    pub async fn close(self) {
        // If the runtime is going down, nothing was to be waited for.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }

    /// As [`SessionStore::get`], for callers that may block.
    pub fn get_blocking(&self, key: &SessionKey) -> Result<Option<SessionEntry>, StoreError> {
        self.blocking(|reply| Message::Get { key: key.clone(), reply })?
    }

    /// As [`SessionStore::list`], for callers that may block.
    pub fn list_blocking(&self) -> Result<Vec<(SessionKey, SessionEntry)>, StoreError> {
        self.blocking(|reply| Message::List { reply })?.map(|catalog| catalog.entries())
    }

    /// A look at every record, in the same order: much quicker than the records themselves.
    pub fn glances_blocking(&self) -> Result<Vec<(SessionKey, Glance)>, StoreError> {
        self.blocking(|reply| Message::List { reply })?.map(|catalog| catalog.glances())
    }

    /// As [`SessionStore::update`], for callers that may block.
    pub fn update_blocking(
        &self,
        key: &SessionKey,
        change: Change,
    ) -> Result<Option<SessionEntry>, StoreError> {
        let promise = Promise::Durable;
        self.blocking(|reply| Message::Update { key: key.clone(), change, promise, reply })?
    }

    /// Changes many records; those that wait together share a sync. The first error is told, and what
    /// came after it may be changed all the same.
    pub fn update_all_blocking(
        &self,
        changes: impl IntoIterator<Item = (SessionKey, Change)>,
    ) -> Result<(), StoreError> {
        let promise = Promise::Durable;
        let ask = |(key, change)| self.ask(|reply| Message::Update { key, change, promise, reply });
        let answers: Vec<_> = changes.into_iter().map(ask).collect::<Result<_, _>>()?;
        for answer in answers {
            answer.blocking_recv().map_err(|_| self.closed())??;
        }
        Ok(())
    }

    fn blocking<T>(&self, message: impl FnOnce(oneshot::Sender<T>) -> Message) -> Result<T, StoreError> {
        self.ask(message)?.blocking_recv().map_err(|_| self.closed())
    }

    async fn waiting<T>(&self, message: impl FnOnce(oneshot::Sender<T>) -> Message) -> Result<T, StoreError> {
        self.ask(message)?.await.map_err(|_| self.closed())
    }

    fn ask<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<T>) -> Message,
    ) -> Result<oneshot::Receiver<T>, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.0.sender.send(message(reply)).map_err(|_| self.closed())?;
        Ok(answer)
    }

    fn closed(&self) -> StoreError {
        StoreError::Closed { path: shown(&self.0.path) }
    }
}

/// How the files look of which records are read: the store, its journal, and where an older program kept it, if there
/// is such a place.
fn stamp_of(states: Vec<FileState>) -> Stamp {
    Stamp::of(&states)
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _ = self.sender.send(Message::Close);
        // A change may hold a handle: who drops that is the keeper itself, and ends soon.
        let is_another = |keeper: &JoinHandle<()>| keeper.thread().id() != thread::current().id();
        if let Some(keeper) = self.keeper.take().filter(is_another) {
            let _ = keeper.join();
        }
    }
}

#[async_trait]
impl SessionStore for SessionFile {
    async fn get(&self, key: &SessionKey) -> Result<Option<SessionEntry>, StoreError> {
        if let Some(record) = self.stamp().and_then(|stamp| self.0.mirror.find(key, stamp)) {
            return Ok(record);
        }
        self.waiting(|reply| Message::Get { key: key.clone(), reply }).await?
    }

    async fn list(&self) -> Result<Vec<(SessionKey, SessionEntry)>, StoreError> {
        let catalog = self.waiting(|reply| Message::List { reply }).await??;
        // Parsing thousands of records takes its time.
        tokio::task::spawn_blocking(move || catalog.entries()).await.map_err(|_| self.closed())
    }

    async fn update(&self, key: &SessionKey, change: Change) -> Result<Option<SessionEntry>, StoreError> {
        let promise = Promise::Durable;
        self.waiting(|reply| Message::Update { key: key.clone(), change, promise, reply }).await?
    }

    async fn note(&self, key: &SessionKey, change: Change) -> Result<Option<SessionEntry>, StoreError> {
        let promise = Promise::Written;
        self.waiting(|reply| Message::Update { key: key.clone(), change, promise, reply }).await?
    }

    async fn newest(&self, choice: Choice) -> Result<Newest, StoreError> {
        /// So many records are parsed in less time than it takes to hand them over.
        const FEW: usize = 100;
        let Selection { count, records } = self.select(choice).await?;
        let is_long = records.len() > FEW;
        let parse = move || -> Vec<_> {
            records.into_iter().filter_map(|selected| Some((selected.key, selected.record.read()?))).collect()
        };
        let entries = match is_long {
            true => tokio::task::spawn_blocking(parse).await.map_err(|_| self.closed())?,
            false => parse(),
        };
        Ok(Newest { count, entries })
    }

    async fn select(&self, choice: Choice) -> Result<Selection, StoreError> {
        let Choice { keys, records, most } = choice;
        let (count, found) = match records {
            None => self.waiting(|reply| Message::Newest { keys, most, reply }).await??,
            Some(records) => {
                let count = self.waiting(|reply| Message::Count { reply }).await??;
                let catalog = self.waiting(|reply| Message::List { reply }).await??;
                let looking = tokio::task::spawn_blocking(move || catalog.chosen(&keys, &records, most));
                (count, looking.await.map_err(|_| self.closed())?)
            }
        };
        let select = |(key, record): Found| {
            let updated_at = record.changed_at().unwrap_or(0.0);
            SelectedRecord { key, updated_at, record }
        };
        Ok(Selection { count, records: found.into_iter().map(select).collect() })
    }

    fn stamp(&self) -> Option<Stamp> {
        let sources = &self.0.sources;
        let states = || sources.iter().map(|path| FileState::of_readable(path)).collect();
        (!sources.is_empty()).then(|| stamp_of(states()))
    }
}
