//! What the keeper knows of the files, and how it learns what others wrote (`sessions.md` §6).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use yabby_domain::seam::{Keys, Stamp, StoreError};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::store_cache::Reading;
use yabby_domain::session::store_journal::{Change, Conflict, Folded, Journal};

use super::super::catalog::{Catalog, Put, TooDeep};
use super::super::journal_file::Access;
use super::super::order::Order;
use super::super::stamp_of;
use super::{Fold, Found, Keeper, LONG};
use crate::clock::millis;
use crate::disk::{Doing, beside, parent, shown};
use crate::file_state::FileState;
use crate::files::atomic::Draft;

/// What is known of the files.
pub(super) struct Loaded {
    pub(super) catalog: Catalog,
    /// Made when somebody first asks for it.
    order: Option<Order>,
    pub(super) reading: Reading,
    pub(super) store: FileState,
    pub(super) older_store: FileState,
    pub(super) journal_id: Option<String>,
    /// How much of the journal is in the catalog.
    pub(super) journal_end: u64,
    pub(super) last_number: u64,
    /// The catalog holds what an older program's store does.
    pub(super) adopted: bool,
    /// Somebody here changes records, and will again.
    pub(super) is_in_use: bool,
    /// There is something that the store does not have.
    pub(super) is_behind: bool,
    /// Folds were begun and their writers died.
    pub(super) waiting_drafts: Vec<String>,
    /// The journal speaks of a fold whose writer died before it began a new one.
    pub(super) is_journal_spent: bool,
    /// The journal holds lines that we cannot read.
    pub(super) is_journal_damaged: bool,
    pub(super) unapplied: Vec<(Change, Conflict)>,
}

/// How long what was only looked at is kept for whoever looks again.
const LOOKED_AT: Duration = Duration::from_secs(1);

/// No reading is kept for longer than an hour.
const LONGEST_MS: f64 = 3_600_000.0;

/// What stands after the name of the store in the name of the file for changes that belong nowhere.
pub(super) const UNAPPLIED: &str = ".unapplied";

impl Keeper {
    /// What the files say now.
    pub(super) fn read(&mut self) -> Result<&Loaded, StoreError> {
        let has_journal = self.journal.lock(Access::Read)?;
        let caught_up = self.catch_up(has_journal);
        self.mirror.follow(self.stamp());
        self.journal.unlock();
        caught_up?;
        self.loaded()
    }

    /// The same, with the order of the records.
    pub(super) fn read_ordered(&mut self) -> Result<&Loaded, StoreError> {
        self.read()?;
        if let Some(loaded) = &mut self.loaded {
            loaded.order.get_or_insert_with(|| Order::of(&loaded.catalog));
        }
        self.loaded()
    }

    /// How long nobody needs to ask for anything until what was read may be forgotten.
    pub(super) fn lifetime(&self) -> Duration {
        /// So that a reading is not good any more by then.
        const MARGIN: Duration = Duration::from_millis(10);
        let while_good = Duration::from_secs_f64(self.cache_ms.clamp(0.0, LONGEST_MS) / 1000.0) + MARGIN;
        match &self.loaded {
            Some(loaded) if loaded.is_in_use => while_good,
            Some(_) => while_good.min(LOOKED_AT),
            None => LONG,
        }
    }

    /// Forgets what would have to be read again before it is used, or was only looked at: the store of thousands
    /// of sessions takes a lot of memory. The files have everything.
    pub(super) fn forget_unneeded(&mut self) {
        let now = millis(&*self.clock);
        let lifetime = self.cache_ms;
        let is_spent = |loaded: &Loaded| {
            let is_good = loaded.reading.is_good(now, loaded.store.modified(), lifetime);
            let is_needed = loaded.is_in_use && is_good;
            !is_needed
        };
        if self.fold == Fold::Idle && self.loaded.as_ref().is_some_and(is_spent) {
            self.loaded = None;
            self.mirror.follow(None);
        }
    }

    /// How the files look that were read, while the journal is locked. `None` if there is more in them.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let loaded = self.loaded.as_ref()?;
        let journal = FileState::of_readable(self.journal.path());
        let stamp = || loaded.stamp(journal, self.older_store.is_some());
        (journal.size() == loaded.journal_end).then(stamp)
    }

    /// Does something that no other process may interfere with.
    pub(super) fn locked<T, E: From<StoreError>>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.journal.lock(Access::Write)?;
        let caught_up = self.catch_up(true);
        self.mirror.follow(self.stamp());
        let done = caught_up.map_err(E::from).and_then(|()| act(self));
        self.journal.unlock();
        if self.fold == Fold::Idle && self.loaded.as_ref().is_some_and(Loaded::wants_fold) {
            self.fold = self.fold_due();
        }
        done
    }

    pub(super) fn loaded(&mut self) -> Result<&Loaded, StoreError> {
        self.loaded.as_ref().ok_or_else(|| StoreError::Closed { path: shown(&self.store) })
    }

    /// Reads what others wrote since, while the journal is locked; everything if need be.
    pub(super) fn catch_up(&mut self, has_journal: bool) -> Result<(), StoreError> {
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
        let header = start.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        Ok(Journal::read(header, |_| false).id)
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
        let bytes = if has_journal { self.journal.read_from(0)? } else { Vec::new() };
        let base = store.to_string();
        let journal = Journal::read(&bytes, |folded| self.is_in_place(folded, &base));
        let mut adopted = false;
        if let Some(path) = self.older_store.clone().filter(|_| older_store != FileState::Missing) {
            match read_store(&path) {
                Ok(older) => {
                    // After a fold the store has its records already, save those that were removed since:
                    // it was only not put away.
                    if !journal.is_folded {
                        catalog.adopt(older.unwrap_or_default());
                    }
                    adopted = true;
                }
                Err(error) => self.notice(error.to_string()),
            }
        }
        for line in &journal.damaged {
            self.notice(format!(
                "{}, line {line}: not a change of ours; kept in a copy beside it and skipped",
                shown(self.journal.path())
            ));
        }
        let mut loaded = Loaded {
            catalog,
            order: None,
            reading,
            store,
            older_store,
            journal_id: journal.id.clone(),
            journal_end: journal.whole as u64,
            last_number: 0,
            adopted,
            is_in_use: false,
            is_behind: adopted,
            waiting_drafts: Vec::new(),
            is_journal_spent: false,
            is_journal_damaged: !journal.damaged.is_empty(),
            unapplied: Vec::new(),
        };
        loaded.replay(journal);
        self.loaded = Some(loaded);
        self.tell_unapplied();
        Ok(())
    }

    fn tell_unapplied(&mut self) {
        let kept_in = shown(&beside(&self.store, UNAPPLIED));
        let told = |(change, conflict): &(Change, Conflict)| {
            let Change { key, at, .. } = change;
            format!("a change of {key} at {at} was not made again: {conflict}. It will be kept in {kept_in}")
        };
        let unapplied = self.loaded.iter().flat_map(|loaded| &loaded.unapplied);
        for text in unapplied.map(told).collect::<Vec<_>>() {
            self.notice(text);
        }
    }

    /// Whether a draft took the place of the store: it is gone, and the store is another file since.
    pub(super) fn is_in_place(&self, folded: &Folded, store_now: &str) -> bool {
        is_in_place(&self.store, folded, store_now)
    }

    /// A journal with lines that we cannot read is not replaced before there is a copy of it.
    pub(super) fn keep_copy_of_journal(&self) -> Result<(), StoreError> {
        let copy = beside(self.journal.path(), &format!(".damaged-{}", self.clock.now().as_millisecond()));
        Draft::write(&*self.disk, &copy, &self.journal.read_from(0)?)?.place()
    }

    pub(super) fn notice(&mut self, text: String) {
        if self.noticed.insert(text.clone()) {
            self.notices.push(text);
        }
    }
}

impl Loaded {
    /// Whether the store or the journal is to be written.
    pub(super) fn wants_fold(&self) -> bool {
        self.is_behind || self.is_journal_spent
    }

    /// How the files look that were read, with this journal.
    pub(super) fn stamp(&self, journal: FileState, has_older: bool) -> Stamp {
        let older = has_older.then_some(self.older_store);
        stamp_of([self.store, journal].into_iter().chain(older).collect())
    }

    /// Sets or removes a record.
    pub(super) fn put(&mut self, key: &str, entry: Option<SessionEntry>) {
        let Put { key, before, after } = self.catalog.put(key, entry);
        if let Some(order) = &mut self.order {
            order.replace(&key, before.as_deref(), after.as_deref());
        }
    }

    /// How many sessions there are.
    pub(super) fn count(&self) -> usize {
        let is_there =
            |key: &&str| self.catalog.record(key).is_some_and(|record| record.changed_at().is_some());
        let shared = SessionKey::SHARED.iter().filter(|key| is_there(key)).count();
        self.order.as_ref().map_or(0, Order::len).saturating_sub(shared)
    }

    /// The newest records with keys that are meant.
    pub(super) fn newest(&self, keys: &Keys, most: usize) -> Vec<Found> {
        let newest_first = self.order.iter().flat_map(Order::newest_first);
        let found = |key: &SessionKey| Some((key.clone(), self.catalog.record(key.as_str())?.clone()));
        newest_first.filter(|key| keys(key)).take(most).filter_map(found).collect()
    }

    /// Makes the changes of a journal, or of the rest of one.
    fn replay(&mut self, journal: Journal) {
        self.last_number = self.last_number.max(journal.last_number);
        self.is_journal_spent |= journal.is_folded || !journal.waiting_drafts.is_empty();
        self.waiting_drafts.extend(journal.waiting_drafts);
        self.is_journal_damaged |= !journal.damaged.is_empty();
        for change in journal.changes {
            self.is_behind = true;
            // A record that we cannot read is none of ours.
            let record = self.catalog.entry(&change.key).map_err(|TooDeep| Conflict::Replaced);
            let made = record.and_then(|mut record| change.kind.apply(&mut record).map(|()| record));
            match made {
                Ok(record) => self.put(&change.key, record),
                Err(conflict) => self.unapplied.push((change, conflict)),
            }
        }
    }
}

/// The same, by the path of the store.
pub(in super::super) fn is_in_place(store: &Path, folded: &Folded, store_now: &str) -> bool {
    let folder = parent(store);
    let is_plain = !folded.draft.contains('/');
    let draft = folder.join(&folded.draft).symlink_metadata();
    let is_gone = draft.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    is_plain && is_gone && folded.base != store_now
}

/// The records of a store; `None` if there is no such file.
fn read_store(path: &Path) -> Result<Option<Catalog>, StoreError> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.doing("read", path)?,
    };
    let damaged = |what| StoreError::Damaged { path: shown(path), what };
    let text = String::from_utf8(bytes).map_err(|error| damaged(error.utf8_error().to_string()))?;
    Catalog::read(text).map(Some).map_err(damaged)
}

/// `agents/<id>/sessions.json` for `agents/<id>/sessions/sessions.json`.
pub(in super::super) fn older_store(store: &Path) -> Option<PathBuf> {
    let is_called = |folder: &&Path, name: &str| folder.file_name().is_some_and(|other| other == name);
    let folder = store.parent().filter(|folder| is_called(folder, "sessions"))?;
    let agent = folder.parent()?;
    // Wherever else somebody keeps a store, what lies beside its folder is none of ours.
    agent.parent().filter(|agents| is_called(agents, "agents"))?;
    Some(agent.join(store.file_name()?))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::sync::{Arc, mpsc};

    use jiff::Timestamp;
    use yabby_domain::seam::Clock;

    use super::*;
    use crate::files::sessions::Settings;

    struct Watch(AtomicI64);

    impl Clock for Watch {
        fn now(&self) -> Timestamp {
            Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).unwrap()
        }
    }

    #[test]
    fn what_is_not_good_any_more_is_forgotten() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = folder.path().join("sessions.json");
        fs::write(&store, "{}").unwrap();
        let clock = Arc::new(Watch(AtomicI64::new(0)));
        let settings = Settings { clock: clock.clone(), cache_ms: 45_000.0, ..Settings::default() };
        let mut keeper = Keeper::new(store, settings, mpsc::channel().0);
        //  now     in use  behind  kept
        let table = [
            (45_000, true, false, true),
            // The journal has what the store lacks.
            (45_001, true, true, false),
            (45_001, true, false, false),
            (1000, false, true, false),
            (1000, false, false, false),
        ];
        for (now, is_in_use, is_behind, is_kept) in table {
            clock.0.store(0, Ordering::SeqCst);
            keeper.loaded = None;
            keeper.read().unwrap();
            let loaded = keeper.loaded.as_mut().unwrap();
            (loaded.is_in_use, loaded.is_behind) = (is_in_use, is_behind);
            clock.0.store(now, Ordering::SeqCst);
            keeper.forget_unneeded();
            assert_eq!(keeper.loaded.is_some(), is_kept, "{now} {is_in_use} {is_behind}");
        }
        assert_eq!(keeper.lifetime(), LONG);
    }

    #[test]
    fn what_was_read_is_used_again_for_a_while_or_never() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = folder.path().join("sessions.json");
        fs::write(&store, "{}").unwrap();
        //  lifetime  read at, while the clock shows 0, 45,000 and 45,001 milliseconds
        let table = [(45_000.0, [0.0, 0.0, 45_001.0]), (0.0, [0.0, 45_000.0, 45_001.0])];
        for (cache_ms, expected) in table {
            let clock = Arc::new(Watch(AtomicI64::new(0)));
            let settings = Settings { clock: clock.clone(), cache_ms, ..Settings::default() };
            let mut keeper = Keeper::new(store.clone(), settings, mpsc::channel().0);
            let read_at = [0, 45_000, 45_001].map(|now| {
                clock.0.store(now, Ordering::SeqCst);
                keeper.read().unwrap().reading.at
            });
            assert_eq!(read_at, expected, "{cache_ms}");
        }
    }
}
