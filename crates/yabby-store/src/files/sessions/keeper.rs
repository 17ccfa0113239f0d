//! The one thread that reads and writes the files of a store (`sessions.md` §6).

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use uuid::Uuid;
use yabby_domain::delivery;
use yabby_domain::seam::{Change, Clock, StoreError};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::store_cache::Reading;
use yabby_domain::session::store_journal::{self, Conflict, Folded, Journal, Line, difference};
use yabby_domain::transcript::file_name::{self, ArchiveReason};

use super::Settings;
use super::catalog::Catalog;
use super::fold::{Drafted, Placed, Snapshot, Unplaced, fold};
use super::journal_file::{Access, JournalFile};
use crate::clock::millis;
use crate::disk::{Disk, Doing, beside, shown, write_all};
use crate::files::atomic::{Draft, sync_parent};

pub(super) enum Message {
    Get {
        key: SessionKey,
        reply: oneshot::Sender<Result<Option<SessionEntry>, StoreError>>,
    },
    List {
        reply: oneshot::Sender<Result<Vec<(SessionKey, SessionEntry)>, StoreError>>,
    },
    Update {
        key: SessionKey,
        change: Change,
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
    journal: JournalFile,
    loaded: Option<Loaded>,
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

/// What is known of the files.
struct Loaded {
    catalog: Catalog,
    reading: Reading,
    store: FileState,
    older_store: FileState,
    journal_id: Option<String>,
    /// How much of the journal is in the catalog.
    journal_end: u64,
    last_number: u64,
    /// The catalog holds what an older program's store does.
    adopted: bool,
    /// There is something that the store does not have.
    is_behind: bool,
    /// Folds were begun and their writers died.
    waiting_drafts: Vec<String>,
    /// The journal holds lines that we cannot read.
    is_journal_damaged: bool,
    unapplied: Vec<(store_journal::Change, Conflict)>,
}

/// Enough of a file to see that it was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileState {
    Missing,
    There { inode: u64, size: u64, modified_ns: i128, changed_ns: i128 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fold {
    Idle,
    /// There is something to fold at this time.
    Due(Instant),
    Running {
        again: bool,
    },
}

/// What stands after the name of the store in the name of the file for changes that belong nowhere.
const UNAPPLIED: &str = ".unapplied";

/// How many updates may share a sync.
const BATCH: usize = 1024;

impl Keeper {
    pub(super) fn new(store: PathBuf, settings: Settings, sender: Sender<Message>) -> Self {
        let Settings { disk, clock, cache_ms, follow_after } = settings;
        let journal = JournalFile::new(disk.clone(), beside(&store, ".journal"));
        let older_store = older_store(&store);
        Self {
            store,
            older_store,
            disk,
            clock,
            cache_ms,
            follow_after,
            journal,
            loaded: None,
            sender,
            fold: Fold::Idle,
            is_closing: false,
            flush_next: Vec::new(),
            flush_now: Vec::new(),
            notices: Vec::new(),
            noticed: HashSet::new(),
        }
    }

    /// Serves until it is told to close.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        loop {
            if self.is_closing && self.has_nothing_to_do() {
                return;
            }
            let Some(first) = self.next(messages) else { continue };
            let mut updates = Vec::new();
            for message in std::iter::once(first).chain(messages.try_iter().take(BATCH)) {
                if let Message::Update { key, change, reply } = message {
                    updates.push(Update { key, change, reply });
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

    /// The next message; `None` if it is time to fold instead.
    fn next(&mut self, messages: &Receiver<Message>) -> Option<Message> {
        let wait = match self.fold {
            Fold::Due(at) => at.saturating_duration_since(Instant::now()),
            Fold::Idle | Fold::Running { .. } => Duration::from_secs(3600),
        };
        match messages.recv_timeout(wait) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => {
                if matches!(self.fold, Fold::Due(at) if at <= Instant::now()) {
                    self.start_fold();
                }
                None
            }
            // There is always a sender: our own, for folds.
            Err(RecvTimeoutError::Disconnected) => Some(Message::Close),
        }
    }

    fn answer(&mut self, message: Message) {
        match message {
            Message::Get { key, reply } => {
                let found = self.read().map(|loaded| loaded.catalog.entry(key.as_str()));
                let _ = reply.send(found);
            }
            Message::List { reply } => {
                let all = self.read().map(|loaded| loaded.catalog.entries());
                let _ = reply.send(all);
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

/// Reading.
impl Keeper {
    /// What the files say now.
    fn read(&mut self) -> Result<&Loaded, StoreError> {
        let has_journal = self.journal.lock(Access::Read)?;
        let caught_up = self.catch_up(has_journal);
        self.journal.unlock();
        caught_up?;
        self.loaded()
    }

    /// Does something that no other process may interfere with.
    fn locked<T, E: From<StoreError>>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.journal.lock(Access::Write)?;
        let done = self.catch_up(true).map_err(E::from).and_then(|()| act(self));
        self.journal.unlock();
        if self.fold == Fold::Idle && self.loaded.as_ref().is_some_and(|loaded| loaded.is_behind) {
            self.fold = Fold::Due(Instant::now() + self.follow_after);
        }
        done
    }

    fn loaded(&mut self) -> Result<&Loaded, StoreError> {
        self.loaded.as_ref().ok_or_else(|| StoreError::Closed { path: shown(&self.store) })
    }

    /// Reads what others wrote since, while the journal is locked; everything if need be.
    fn catch_up(&mut self, has_journal: bool) -> Result<(), StoreError> {
        let journal_id = if has_journal { self.journal_id()? } else { None };
        let store = FileState::of(&self.store).doing("look at", &self.store)?;
        let older_store = self.older_store.as_deref().map_or(FileState::Missing, FileState::of_readable);
        let end = if has_journal { self.journal.len()? } else { 0 };
        let now = millis(&*self.clock);
        let is_known = self.loaded.as_ref().is_some_and(|loaded| {
            (loaded.store, loaded.older_store) == (store, older_store)
                && loaded.journal_id == journal_id
                && loaded.journal_end <= end
                && loaded.reading.is_good(now, store.modified(), self.cache_ms)
        });
        if !is_known {
            let reading = Reading { at: now, modified: store.modified() };
            return self.load(store, older_store, reading, has_journal);
        }
        let Some(loaded) = &mut self.loaded else { return Ok(()) };
        if loaded.journal_end == end {
            return Ok(());
        }
        let rest = self.journal.read_from(loaded.journal_end)?;
        let journal = Journal::read(&rest, |_| false);
        loaded.journal_end += journal.whole as u64;
        loaded.replay(journal);
        self.tell_unapplied();
        Ok(())
    }

    /// The first line of the journal, by which it is told from the one before.
    fn journal_id(&mut self) -> Result<Option<String>, StoreError> {
        const HEADER: usize = 200;
        let start = self.journal.read_start(HEADER)?;
        Ok(Journal::read(&start, |_| false).id)
    }

    fn load(
        &mut self,
        store: FileState,
        older_store: FileState,
        reading: Reading,
        has_journal: bool,
    ) -> Result<(), StoreError> {
        self.loaded = None;
        let mut catalog = read_store(&self.store)?.unwrap_or_default();
        let mut adopted = false;
        if let Some(path) = self.older_store.clone().filter(|_| older_store != FileState::Missing) {
            match read_store(&path) {
                Ok(older) => {
                    catalog.adopt(older.unwrap_or_default());
                    adopted = true;
                }
                Err(error) => self.notice(error.to_string()),
            }
        }
        let bytes = if has_journal { self.journal.read_from(0)? } else { Vec::new() };
        let base = store.to_string();
        let journal = Journal::read(&bytes, |folded| self.is_in_place(folded, &base));
        for line in &journal.damaged {
            self.notice(format!(
                "{}, line {line}: not a change of ours; kept in a copy beside it and skipped",
                shown(self.journal.path())
            ));
        }
        let mut loaded = Loaded {
            catalog,
            reading,
            store,
            older_store,
            journal_id: journal.id.clone(),
            journal_end: journal.whole as u64,
            last_number: 0,
            adopted,
            is_behind: adopted,
            waiting_drafts: Vec::new(),
            is_journal_damaged: !journal.damaged.is_empty(),
            unapplied: Vec::new(),
        };
        loaded.replay(journal);
        self.loaded = Some(loaded);
        self.tell_unapplied();
        Ok(())
    }

    fn tell_unapplied(&mut self) {
        let unapplied = self.loaded.iter().flat_map(|loaded| &loaded.unapplied);
        for text in unapplied.map(told).collect::<Vec<_>>() {
            self.notice(text);
        }
    }

    /// Whether a draft took the place of the store: it is gone, and the store is another file since.
    fn is_in_place(&self, folded: &Folded, store_now: &str) -> bool {
        let folder = self.store.parent().unwrap_or(Path::new("."));
        let is_plain = !folded.draft.contains('/');
        let waits = is_plain && folder.join(&folded.draft).symlink_metadata().is_ok();
        !waits && folded.base != store_now
    }

    /// A journal with lines that we cannot read is not replaced before there is a copy of it.
    fn keep_copy_of_journal(&self) -> Result<(), StoreError> {
        let copy = beside(self.journal.path(), &format!(".damaged-{}", self.clock.now().as_millisecond()));
        Draft::write(&*self.disk, &copy, &self.journal.read_from(0)?)?.place()
    }

    fn notice(&mut self, text: String) {
        if self.noticed.insert(text.clone()) {
            self.notices.push(text);
        }
    }
}

impl Loaded {
    /// Makes the changes of a journal, or of the rest of one.
    fn replay(&mut self, journal: Journal) {
        self.last_number = self.last_number.max(journal.last_number);
        self.waiting_drafts.extend(journal.waiting_drafts);
        self.is_journal_damaged |= !journal.damaged.is_empty();
        for change in journal.changes {
            self.is_behind = true;
            let mut record = self.catalog.entry(&change.key);
            match change.kind.apply(&mut record) {
                Ok(()) => self.catalog.put(&change.key, record),
                Err(conflict) => self.unapplied.push((change, conflict)),
            }
        }
    }
}

/// Why a change was not made, for a person.
fn told((change, conflict): &(store_journal::Change, Conflict)) -> String {
    format!(
        "a change of {} at {} was not made again: {conflict}. It will be kept in {UNAPPLIED}",
        change.key, change.at
    )
}

/// The records of a store; `None` if there is no such file.
fn read_store(path: &Path) -> Result<Option<Catalog>, StoreError> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.doing("read", path)?,
    };
    let damaged = |what| StoreError::Damaged { path: shown(path), what };
    let text = String::from_utf8(bytes).map_err(|error| damaged(error.utf8_error().to_string()))?;
    Catalog::read(&text).map(Some).map_err(damaged)
}

/// `agents/<id>/sessions.json` for `agents/<id>/sessions/sessions.json`.
fn older_store(store: &Path) -> Option<PathBuf> {
    let folder = store.parent().filter(|folder| folder.file_name().is_some_and(|name| name == "sessions"))?;
    Some(folder.parent()?.join(store.file_name()?))
}

impl FileState {
    fn of(path: &Path) -> io::Result<Self> {
        match path.metadata() {
            Ok(metadata) => Ok(Self::There {
                inode: metadata.ino(),
                size: metadata.size(),
                modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
                changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Missing),
            Err(error) => Err(error),
        }
    }

    /// The same; a file that cannot be looked at is as good as missing.
    fn of_readable(path: &Path) -> Self {
        Self::of(path).unwrap_or(Self::Missing)
    }

    fn modified(self) -> Option<f64> {
        match self {
            Self::Missing => None,
            #[expect(clippy::cast_precision_loss, reason = "equal times stay equal")]
            Self::There { modified_ns, .. } => Some(modified_ns as f64),
        }
    }
}

impl std::fmt::Display for FileState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("none"),
            // Without the time of the change: renaming a file sets it.
            Self::There { inode, size, modified_ns, .. } => write!(f, "{inode}-{size}-{modified_ns}"),
        }
    }
}

fn nanoseconds(seconds: i64, rest: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(rest)
}

struct Update {
    key: SessionKey,
    change: Change,
    reply: oneshot::Sender<Result<Option<SessionEntry>, StoreError>>,
}

/// Writing.
impl Keeper {
    /// Makes changes, and answers when all of them are safe. If they cannot be kept, none is made.
    fn commit(&mut self, updates: Vec<Update>) {
        if updates.is_empty() {
            return;
        }
        let mut made = Vec::with_capacity(updates.len());
        let mut waiting = Vec::with_capacity(updates.len());
        let mut updates = Some(updates);
        let kept = self.locked(|keeper| {
            let mut lines = String::new();
            for Update { key, change, reply } in updates.take().into_iter().flatten() {
                made.push(keeper.make(&key, change, &mut lines));
                waiting.push(reply);
            }
            keeper.keep(lines)
        });
        if let Err(error) = &kept {
            // What is in memory may be ahead of the disk now.
            self.loaded = None;
            let unmade = updates.into_iter().flatten().map(|update| update.reply);
            for reply in waiting.into_iter().chain(unmade) {
                let _ = reply.send(Err(error.clone()));
            }
            return;
        }
        for (reply, made) in waiting.into_iter().zip(made) {
            let _ = reply.send(made);
        }
    }

    /// Makes one change in memory, and adds its line.
    fn make(
        &mut self,
        key: &SessionKey,
        change: Change,
        lines: &mut String,
    ) -> Result<Option<SessionEntry>, StoreError> {
        let at = self.clock.now();
        let loaded = self.loaded.as_mut().ok_or_else(|| StoreError::Closed { path: shown(&self.store) })?;
        let before = loaded.catalog.entry(key.as_str());
        let mut after = before.clone();
        catch_unwind(AssertUnwindSafe(|| change(&mut after)))
            .map_err(|_| StoreError::ChangePanicked { key: key.as_str().to_owned() })?;
        if let Some(entry) = &mut after
            && let Some(patch) = delivery::normalize_entry(entry)
        {
            entry.apply(&patch);
        }
        let Some(kind) = difference(before.as_ref(), after.as_ref()) else { return Ok(before) };
        let mut record = before;
        // The record is the one that the difference was taken from.
        let _ = kind.apply(&mut record);
        loaded.catalog.put(key.as_str(), record.clone());
        loaded.last_number += 1;
        let change =
            store_journal::Change { number: loaded.last_number, at, key: key.as_str().to_owned(), kind };
        lines.push_str(&Line::Change(change).text());
        Ok(record)
    }

    /// Appends lines to the journal; comes back when they are safe.
    fn keep(&mut self, lines: String) -> Result<(), StoreError> {
        if lines.is_empty() {
            return Ok(());
        }
        let Some(loaded) = &mut self.loaded else { return Ok(()) };
        let lines = if loaded.journal_end == 0 {
            let (id, header) = new_header();
            loaded.journal_id = Some(id);
            header + &lines
        } else {
            lines
        };
        self.journal.append(loaded.journal_end, lines.as_bytes())?;
        loaded.journal_end += lines.len() as u64;
        loaded.is_behind = true;
        match &mut self.fold {
            Fold::Idle => self.fold = Fold::Due(Instant::now() + self.follow_after),
            Fold::Running { again } => *again = true,
            Fold::Due(_) => {}
        }
        Ok(())
    }
}

/// A name for a new journal, and its first line.
fn new_header() -> (String, String) {
    let id = Uuid::new_v4().to_string();
    (id.clone(), Line::Header { id }.text())
}

/// Folding.
impl Keeper {
    fn start_fold(&mut self) {
        self.fold = Fold::Running { again: false };
        let (disk, clock, store, sender) =
            (self.disk.clone(), self.clock.clone(), self.store.clone(), self.sender.clone());
        let work = move || {
            let folded = fold(&disk, &*clock, &store, &sender);
            let _ = sender.send(Message::FoldEnded(folded));
        };
        let started = std::thread::Builder::new().name("session store fold".to_owned()).spawn(work);
        if let Err(source) = started {
            self.fold_ended(Err(source).doing("start a thread for", &self.store));
        }
    }

    fn fold_ended(&mut self, folded: Result<(), StoreError>) {
        /// What went wrong may go wrong again at once.
        const RETRY_AFTER: Duration = Duration::from_secs(2);
        let again = matches!(self.fold, Fold::Running { again: true });
        self.fold = match &folded {
            Err(_) => Fold::Due(Instant::now() + RETRY_AFTER),
            Ok(()) if again => Fold::Due(Instant::now() + self.follow_after),
            Ok(()) => Fold::Idle,
        };
        let mut served = std::mem::take(&mut self.flush_now);
        if let Err(error) = &folded {
            served.append(&mut self.flush_next);
            let journal = shown(self.journal.path());
            self.notice(format!(
                "{} is behind: {error}. What it lacks is safe in {journal}",
                shown(&self.store)
            ));
        }
        for reply in served {
            let _ = reply.send(folded.clone());
        }
        let is_wanted_now = !self.flush_next.is_empty() || (self.is_closing && again);
        if folded.is_ok() && is_wanted_now {
            self.start_fold();
        }
    }

    fn flush(&mut self, reply: oneshot::Sender<Result<(), StoreError>>) {
        let is_folding = matches!(self.fold, Fold::Running { .. });
        match self.read().map(|loaded| loaded.is_behind) {
            Err(error) => {
                let _ = reply.send(Err(error));
            }
            Ok(false) if !is_folding => {
                let _ = reply.send(Ok(()));
            }
            Ok(_) => {
                self.flush_next.push(reply);
                if !is_folding {
                    self.start_fold();
                }
            }
        }
    }

    fn fold_before_closing(&mut self) {
        if let Fold::Due(_) = self.fold {
            self.start_fold();
        }
    }

    /// Whether there is nothing left to be done before closing; a journal without use goes then.
    fn has_nothing_to_do(&mut self) -> bool {
        match self.fold {
            Fold::Running { .. } => return false,
            // It was tried; the journal keeps what the store does not have.
            Fold::Due(_) => {}
            // Nobody is harmed if it stays.
            Fold::Idle => self.tidy_up().unwrap_or_default(),
        }
        true
    }

    fn tidy_up(&mut self) -> Result<(), StoreError> {
        if !self.journal.was_written() || self.journal.path().symlink_metadata().is_err() {
            return Ok(());
        }
        self.locked(|keeper| {
            let loaded = keeper.loaded()?;
            let is_of_use =
                loaded.is_behind || !loaded.waiting_drafts.is_empty() || loaded.is_journal_damaged;
            if is_of_use { Ok(()) } else { keeper.journal.remove() }
        })
    }

    /// What is to be written; `None` if the store has everything.
    fn snapshot(&mut self) -> Result<Option<Snapshot>, StoreError> {
        self.forget_waiting_drafts()?;
        if let Fold::Running { again } = &mut self.fold {
            *again = false;
        }
        let Some(loaded) = self.loaded.as_ref().filter(|loaded| loaded.is_behind) else { return Ok(None) };
        Ok(Some(Snapshot {
            catalog: loaded.catalog.clone(),
            up_to: loaded.last_number,
            journal_end: loaded.journal_end,
            base: loaded.store.to_string(),
        }))
    }

    /// Begins a new journal if this one names drafts whose writers died, and then removes them: the
    /// lines that name them must go first.
    fn forget_waiting_drafts(&mut self) -> Result<(), StoreError> {
        let Some(loaded) = self.loaded.as_mut().filter(|loaded| !loaded.waiting_drafts.is_empty()) else {
            return Ok(());
        };
        let drafts = std::mem::take(&mut loaded.waiting_drafts);
        let (base, end) = (loaded.store.to_string(), loaded.journal_end);
        let bytes = self.journal.read_from(0)?;
        let whole = bytes.get(..usize::try_from(end).unwrap_or(usize::MAX)).unwrap_or(&bytes);
        let journal = Journal::read(whole, |folded| self.is_in_place(folded, &base));
        let lines: String = journal.changes.into_iter().map(|change| Line::Change(change).text()).collect();
        self.begin_journal(lines.as_bytes())?;
        let folder = self.store.parent().unwrap_or(Path::new("."));
        for draft in drafts.iter().filter(|draft| !draft.contains('/') && draft.ends_with(".tmp")) {
            // Only a draft; it harms nobody if it stays.
            let _ = self.disk.remove(&folder.join(draft));
        }
        // The new journal has another lock.
        self.journal.lock(Access::Write)?;
        self.catch_up(true)
    }

    /// Puts a new journal with these lines in the place of the old one.
    fn begin_journal(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        if self.loaded()?.is_journal_damaged {
            self.keep_copy_of_journal()?;
        }
        let (id, header) = new_header();
        self.journal.replace(&header, lines)?;
        if let Some(loaded) = &mut self.loaded {
            loaded.journal_id = Some(id);
            loaded.journal_end = (header.len() + lines.len()) as u64;
            loaded.is_journal_damaged = false;
        }
        Ok(())
    }

    /// Puts the draft of a store in its place, and what it does not hold into a new journal.
    fn place(&mut self, drafted: &Drafted) -> Result<Placed, Unplaced> {
        self.locked(|keeper| {
            if keeper.loaded()?.store.to_string() != drafted.base {
                return Ok(Placed::StoreChanged);
            }
            keeper.keep_unapplied(drafted.up_to)?;
            keeper.announce(drafted)?;
            let placed = keeper.disk.rename(&drafted.path, &keeper.store).doing("replace", &keeper.store);
            if let Err(error) = placed {
                let end = keeper.loaded()?.journal_end;
                let draft_stays = keeper.journal.take_back(end).is_err();
                return Err(Unplaced { error, draft_stays });
            }
            // Should any of this fail, the journal says what is in the store.
            let settled = keeper.settle(drafted);
            if settled.is_err() {
                keeper.loaded = None;
            }
            settled?;
            Ok(Placed::InPlace)
        })
    }

    /// Says in the journal what is about to happen.
    fn announce(&mut self, drafted: &Drafted) -> Result<(), StoreError> {
        let end = self.loaded()?.journal_end;
        let draft = drafted.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let folded =
            Folded { up_to: drafted.up_to, draft: draft.unwrap_or_default(), base: drafted.base.clone() };
        self.journal.append(end, Line::Folded(folded).text().as_bytes())
    }

    /// The new store is in its place: the journal and what we know follow.
    fn settle(&mut self, drafted: &Drafted) -> Result<(), StoreError> {
        sync_parent(&*self.disk, &self.store)?;
        let (start, end) = (drafted.journal_end, self.loaded()?.journal_end);
        let mut rest = self.journal.read_from(start)?;
        rest.truncate(usize::try_from(end - start).unwrap_or_default());
        self.archive_older_store()?;
        self.begin_journal(&rest)?;
        let store = FileState::of(&self.store).doing("look at", &self.store)?;
        let older_store = self.older_store.as_deref().map_or(FileState::Missing, FileState::of_readable);
        let reading = Reading { at: millis(&*self.clock), modified: store.modified() };
        if let Some(loaded) = &mut self.loaded {
            (loaded.store, loaded.older_store) = (store, older_store);
            loaded.reading = reading;
            loaded.adopted = false;
            loaded.is_behind = !rest.is_empty();
            loaded.unapplied.retain(|(change, _)| change.number > drafted.up_to);
        }
        Ok(())
    }

    /// Changes that belong nowhere are kept in a file of their own.
    fn keep_unapplied(&mut self, up_to: u64) -> Result<(), StoreError> {
        let unapplied = &self.loaded()?.unapplied;
        let lines = unapplied.iter().filter(|(change, _)| change.number <= up_to);
        let lines: String = lines.map(|(change, _)| Line::Change(change.clone()).text()).collect();
        if lines.is_empty() {
            return Ok(());
        }
        let path = beside(&self.store, UNAPPLIED);
        let file = self.disk.open_append(&path).doing("open", &path)?;
        write_all(&*self.disk, &file, lines.as_bytes())
            .and_then(|()| self.disk.sync(&file))
            .doing("write", &path)?;
        sync_parent(&*self.disk, &path)
    }

    /// The store of an older program has been taken over, and is put away.
    fn archive_older_store(&mut self) -> Result<(), StoreError> {
        let adopted = self.loaded()?.adopted;
        let Some(path) = self.older_store.as_ref().filter(|_| adopted) else { return Ok(()) };
        let archive = file_name::archive(&shown(path), ArchiveReason::Backup, self.clock.now());
        self.disk.rename(path, Path::new(&archive)).doing("put away", path)?;
        sync_parent(&*self.disk, path)
    }
}
