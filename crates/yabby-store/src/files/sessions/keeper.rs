//! The one thread that reads and writes the files of a store (`sessions.md` §6).

mod folding;
pub(super) mod reading;
pub(super) mod writing;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use yabby_domain::seam::journal::Promise;
use yabby_domain::seam::{Change, Clock, Keys, StoreError};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;

use super::Settings;
use super::catalog::{Catalog, Record, TooDeep};
use super::fold::{Drafted, Placed, Snapshot, Unplaced};
use super::journal_file::JournalFile;
use super::mirror::Mirror;
use crate::disk::{Disk, beside, shown};
use reading::{Loaded, older_store};
use writing::Update;

/// A record that is meant, to be parsed by whoever wants it.
pub(super) type Found = (SessionKey, Arc<Record>);

pub(super) enum Message {
    Get {
        key: SessionKey,
        reply: oneshot::Sender<Result<Option<SessionEntry>, StoreError>>,
    },
    List {
        reply: oneshot::Sender<Result<Catalog, StoreError>>,
    },
    /// The newest records with keys that are meant, and how many sessions there are.
    Newest {
        keys: Keys,
        most: usize,
        reply: oneshot::Sender<Result<(usize, Vec<Found>), StoreError>>,
    },
    /// How many sessions there are.
    Count {
        reply: oneshot::Sender<Result<usize, StoreError>>,
    },
    Update {
        key: SessionKey,
        change: Change,
        promise: Promise,
        reply: oneshot::Sender<Result<Option<SessionEntry>, StoreError>>,
    },
    Flush {
        reply: oneshot::Sender<Result<(), StoreError>>,
    },
    Notices {
        reply: oneshot::Sender<Vec<String>>,
    },
    /// From a fold.
    Snapshot {
        reply: mpsc::Sender<Result<Option<Snapshot>, StoreError>>,
    },
    Place {
        drafted: Drafted,
        reply: mpsc::Sender<Result<Placed, Unplaced>>,
    },
    FoldEnded(Result<(), StoreError>),
    Close,
}

pub(super) struct Keeper {
    store: PathBuf,
    /// Where an older program kept the store: beside the folder, not in it.
    older_store: Option<PathBuf>,
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    cache_ms: f64,
    follow_after: Duration,
    /// How long the last fold took.
    fold_took: Duration,
    journal: JournalFile,
    /// When what was only written is to be safe from a power failure, too.
    sync_due: Option<Instant>,
    loaded: Option<Loaded>,
    mirror: Arc<Mirror>,
    sender: Sender<Message>,
    fold: Fold,
    is_closing: bool,
    /// Who waits for the next fold to begin, and for the running one to end.
    flush_next: Vec<oneshot::Sender<Result<(), StoreError>>>,
    flush_now: Vec<oneshot::Sender<Result<(), StoreError>>>,
    notices: Vec<String>,
    /// What was noticed before, not to be told twice.
    noticed: HashSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fold {
    Idle,
    /// There is something to fold at this time.
    Due(Instant),
    Running {
        since: Instant,
        again: bool,
    },
}

/// Long enough to wait when there is nothing to wait for.
const LONG: Duration = Duration::from_secs(3600);

/// How many updates may share a sync.
const BATCH: usize = 1024;

/// Where the journal of a store is.
pub(super) fn journal_of(store: &Path) -> PathBuf {
    beside(store, ".journal")
}

impl Keeper {
    pub(super) fn new(store: PathBuf, settings: Settings, sender: Sender<Message>) -> Self {
        let Settings { disk, clock, cache_ms, follow_after } = settings;
        let journal = JournalFile::new(disk.clone(), journal_of(&store));
        let older_store = older_store(&store);
        Self {
            store,
            older_store,
            disk,
            clock,
            cache_ms,
            follow_after,
            fold_took: Duration::ZERO,
            journal,
            sync_due: None,
            loaded: None,
            mirror: Arc::default(),
            sender,
            fold: Fold::Idle,
            is_closing: false,
            flush_next: Vec::new(),
            flush_now: Vec::new(),
            notices: Vec::new(),
            noticed: HashSet::new(),
        }
    }

    /// Where the records are that it was asked for last.
    pub(super) fn mirror(&self) -> Arc<Mirror> {
        self.mirror.clone()
    }

    /// Serves until it is told to close.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        loop {
            if self.is_closing && self.has_nothing_to_do() {
                // Unless a fold has done that.
                if self.sync_due.is_some() {
                    self.sync_written();
                }
                return;
            }
            let Some(first) = self.next(messages) else { continue };
            let mut updates = Vec::new();
            for message in std::iter::once(first).chain(messages.try_iter().take(BATCH)) {
                if let Message::Update { key, change, promise, reply } = message {
                    updates.push(Update { key, change, promise, reply });
                    continue;
                }
                // Who asks after an update sees it.
                self.commit(std::mem::take(&mut updates));
                match message {
                    Message::Close => {
                        self.is_closing = true;
                        self.fold_before_closing();
                    }
                    message => self.answer(message),
                }
            }
            self.commit(updates);
        }
    }

    /// The next message; `None` if it is time to sync or to fold instead, whether or not there is one.
    fn next(&mut self, messages: &Receiver<Message>) -> Option<Message> {
        let until_sync = self.sync_due.map(|at| at.saturating_duration_since(Instant::now()));
        if until_sync.is_some_and(|wait| wait.is_zero()) {
            self.sync_written();
            return None;
        }
        let wait = match self.fold {
            Fold::Due(at) => at.saturating_duration_since(Instant::now()),
            Fold::Idle => self.lifetime(),
            Fold::Running { .. } => LONG,
        };
        if wait.is_zero() {
            self.start_fold();
            return None;
        }
        match messages.recv_timeout(until_sync.unwrap_or(LONG).min(wait)) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) if self.sync_due.is_some() => None,
            Err(RecvTimeoutError::Timeout) => {
                self.forget_unneeded();
                None
            }
            // There is always a sender: our own, for folds.
            Err(RecvTimeoutError::Disconnected) => Some(Message::Close),
        }
    }

    fn too_deep(&self, key: &SessionKey) -> StoreError {
        StoreError::TooDeep { path: shown(&self.store), key: key.as_str().to_owned() }
    }

    fn answer(&mut self, message: Message) {
        match message {
            Message::Get { key, reply } => {
                let found = self.read().map(|loaded| loaded.catalog.entry(key.as_str()));
                let found = found.and_then(|found| found.map_err(|TooDeep| self.too_deep(&key)));
                if let Ok(record) = &found {
                    self.mirror.add(key, record.clone());
                }
                let _ = reply.send(found);
            }
            Message::List { reply } => {
                let all = self.read().map(|loaded| loaded.catalog.clone());
                let _ = reply.send(all);
            }
            Message::Newest { keys, most, reply } => {
                let _ = reply
                    .send(self.read_ordered().map(|loaded| (loaded.count(), loaded.newest(&keys, most))));
            }
            Message::Count { reply } => {
                let _ = reply.send(self.read_ordered().map(Loaded::count));
            }
            Message::Flush { reply } => self.flush(reply),
            Message::Notices { reply } => {
                let _ = reply.send(std::mem::take(&mut self.notices));
            }
            Message::Snapshot { reply } => {
                self.flush_now.append(&mut self.flush_next);
                let _ = reply.send(self.locked(Self::snapshot));
            }
            Message::Place { drafted, reply } => {
                let _ = reply.send(self.place(&drafted));
            }
            Message::FoldEnded(folded) => self.fold_ended(folded),
            // `run` deals with these.
            Message::Update { .. } | Message::Close => {}
        }
    }
}
