//! The keeper's part in bringing `sessions.json` up to date (`sessions.md` §6).

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use yabby_domain::seam::StoreError;
use yabby_domain::seam::journal::Promise;
use yabby_domain::session::store_cache::Reading;
use yabby_domain::session::store_journal::{Folded, Journal, Line};
use yabby_domain::transcript::file_name::{self, ArchiveReason};

use super::super::fold::{Drafted, Placed, Point, Snapshot, Unplaced, fold, writer_of};
use super::super::journal_file::Access;
use super::reading::{Loaded, UNAPPLIED};
use super::writing::new_header;
use super::{Fold, Keeper, Message};
use crate::clock::millis;
use crate::disk::{Doing, beside, parent, shown, write_all};
use crate::file_state::FileState;
use crate::files::atomic::sync_parent;
use crate::files::folder::plain;

impl Keeper {
    pub(super) fn start_fold(&mut self) {
        self.fold = Fold::Running { since: Instant::now(), again: false };
        let (disk, clock, store, sender) =
            (self.disk.clone(), self.clock.clone(), self.store.clone(), self.sender.clone());
        let work = move || {
            let folded = catch_unwind(AssertUnwindSafe(|| fold(&disk, &*clock, &store, &sender)));
            // Whoever waits for it has to be told.
            let given_up = |_| Err(io::Error::other("it was given up half-way")).doing("write", &store);
            let folded = folded.unwrap_or_else(given_up);
            let _ = sender.send(Message::FoldEnded(folded));
        };
        let started = std::thread::Builder::new().name("session store fold".to_owned()).spawn(work);
        if let Err(source) = started {
            self.fold_ended(Err(source).doing("start a thread for", &self.store));
        }
    }

    /// When what has just changed is to be in the store: soon in a small one. A larger one is written when its journal
    /// has become as long as itself, so that what is written for a change does not grow with the store; and when this
    /// process ends, or somebody asks for it.
    pub(super) fn fold_due(&self) -> Fold {
        const SMALL: u64 = 32 * 1024;
        const PAUSES: u32 = 10;
        let is_worth_it = self.loaded.as_ref().is_none_or(|loaded| {
            let size = loaded.store.size();
            size <= SMALL || loaded.journal_end >= size || loaded.is_journal_spent
        });
        match is_worth_it {
            true => Fold::Due(Instant::now() + self.follow_after.max(self.fold_took * PAUSES)),
            false => Fold::Idle,
        }
    }

    pub(super) fn fold_ended(&mut self, folded: Result<(), StoreError>) {
        /// What went wrong may go wrong again at once.
        const RETRY_AFTER: Duration = Duration::from_secs(2);
        let again = matches!(self.fold, Fold::Running { again: true, .. });
        if let Fold::Running { since, .. } = self.fold {
            self.fold_took = since.elapsed();
        }
        self.fold = match &folded {
            Err(_) => Fold::Due(Instant::now() + RETRY_AFTER),
            Ok(()) if again => self.fold_due(),
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

    pub(super) fn flush(&mut self, reply: oneshot::Sender<Result<(), StoreError>>) {
        let is_folding = matches!(self.fold, Fold::Running { .. });
        match self.read().map(Loaded::wants_fold) {
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

    pub(super) fn fold_before_closing(&mut self) {
        let is_due = match self.fold {
            Fold::Due(_) => true,
            // What others wrote is theirs to fold.
            Fold::Idle => self.journal.was_written() && self.read().is_ok_and(Loaded::wants_fold),
            Fold::Running { .. } => false,
        };
        if is_due {
            self.start_fold();
        }
    }

    /// Whether there is nothing left to be done before closing; a journal without use goes then.
    pub(super) fn has_nothing_to_do(&mut self) -> bool {
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
        self.journal.lock(Access::Write)?;
        if self.journal.len()? == 0 {
            // Not even a store that cannot be read needs it.
            return self.journal.remove();
        }
        self.journal.unlock();
        self.locked(|keeper| {
            let loaded = keeper.loaded()?;
            let is_of_use =
                loaded.is_behind || !loaded.waiting_drafts.is_empty() || loaded.is_journal_damaged;
            if is_of_use { Ok(()) } else { keeper.journal.remove() }
        })
    }

    /// What is to be written; `None` if the store has everything.
    pub(super) fn snapshot(&mut self) -> Result<Option<Snapshot>, StoreError> {
        self.renew_spent_journal()?;
        if let Fold::Running { again, .. } = &mut self.fold {
            *again = false;
        }
        let Some(loaded) = self.loaded.as_ref().filter(|loaded| loaded.is_behind) else { return Ok(None) };
        let point = Point {
            up_to: loaded.last_number,
            base: loaded.store.to_string(),
            journal_id: loaded.journal_id.clone(),
            journal_end: loaded.journal_end,
        };
        Ok(Some(Snapshot { catalog: loaded.catalog.clone(), point }))
    }

    /// Begins a new journal if this one speaks of folds whose writers died. Drafts that were not placed are
    /// removed after that: the lines that name them must go first.
    fn renew_spent_journal(&mut self) -> Result<(), StoreError> {
        let Some(loaded) = self.loaded.as_mut().filter(|loaded| loaded.is_journal_spent) else {
            return Ok(());
        };
        let drafts = std::mem::take(&mut loaded.waiting_drafts);
        let (base, end) = (loaded.store.to_string(), loaded.journal_end);
        let bytes = self.journal.read_from(0)?;
        let whole = bytes.get(..usize::try_from(end).unwrap_or(usize::MAX)).unwrap_or(&bytes);
        let journal = Journal::read(whole, |folded| self.is_in_place(folded, &base));
        if journal.is_folded {
            // Only this line tells that the store has its records already.
            self.archive_older_store()?;
        }
        let lines: String = journal.changes.into_iter().map(|change| Line::Change(change).text()).collect();
        self.begin_journal(lines.as_bytes())?;
        let folder = parent(&self.store);
        for draft in drafts.iter().filter(|draft| writer_of(&self.store, draft).is_some()) {
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
            // Everybody counts on from what stands in the journal. Were we to count on from a higher
            // number, we would take what others write meanwhile for something that we have folded.
            loaded.last_number = Journal::read(lines, |_| false).last_number;
            loaded.is_journal_damaged = false;
            loaded.is_journal_spent = false;
        }
        Ok(())
    }

    /// Puts the draft of a store in its place, and what it does not hold into a new journal.
    pub(super) fn place(&mut self, drafted: &Drafted) -> Result<Placed, Unplaced> {
        self.locked(|keeper| {
            let loaded = keeper.loaded()?;
            if loaded.store.to_string() != drafted.point.base || loaded.journal_id != drafted.point.journal_id
            {
                return Ok(Placed::StoreChanged);
            }
            let end = loaded.journal_end;
            keeper.keep_unapplied(drafted.point.up_to)?;
            if let Err(error) = keeper.announce(drafted) {
                return Err(Unplaced { error, draft_stays: keeper.journal.has_leftover() });
            }
            let swapped = keeper.swap(drafted);
            if let Ok(Some(store)) = swapped {
                // Should any of this fail, the journal says what is in the store.
                let settled = keeper.settle(drafted, store);
                if settled.is_err() {
                    keeper.loaded = None;
                }
                settled?;
                return Ok(Placed::InPlace);
            }
            // The draft is not the store: what it holds stays in the journal.
            let taken_back = keeper.journal.take_back(end);
            let draft_stays = taken_back.is_err();
            match swapped.and(taken_back) {
                Ok(()) => Ok(Placed::StoreChanged),
                Err(error) => Err(Unplaced { error, draft_stays }),
            }
        })
    }

    /// Puts the draft in the place of the store, and tells what the store is then; `None` if somebody
    /// who takes no lock wrote it just before or just after.
    fn swap(&mut self, drafted: &Drafted) -> Result<Option<FileState>, StoreError> {
        let look_at = |path: &Path| FileState::of(path).doing("look at", path);
        let draft = look_at(&drafted.path)?;
        if look_at(&self.store)? != self.loaded()?.store {
            return Ok(None);
        }
        self.disk.rename(&drafted.path, &self.store).doing("replace", &self.store)?;
        sync_parent(&*self.disk, &self.store)?;
        let store = look_at(&self.store)?;
        Ok((store.to_string() == draft.to_string()).then_some(store))
    }

    /// Says in the journal what is about to happen.
    fn announce(&mut self, drafted: &Drafted) -> Result<(), StoreError> {
        let end = self.loaded()?.journal_end;
        let draft = drafted.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let folded = Folded {
            up_to: drafted.point.up_to,
            draft: draft.unwrap_or_default(),
            base: drafted.point.base.clone(),
        };
        self.journal.append(end, Line::Folded(folded).text().as_bytes(), Promise::Durable, || {})
    }

    /// The new store is in its place: the journal and what we know follow.
    fn settle(&mut self, drafted: &Drafted, store: FileState) -> Result<(), StoreError> {
        let (start, end) = (drafted.point.journal_end, self.loaded()?.journal_end);
        let mut rest = self.journal.read_from(start)?;
        rest.truncate(usize::try_from(end - start).unwrap_or_default());
        self.archive_older_store()?;
        self.begin_journal(&rest)?;
        let older_store = self.older_store.as_deref().map_or(FileState::Missing, FileState::of_readable);
        let reading = Reading { at: millis(&*self.clock), modified: store.modified() };
        // The new journal holds what the store does not, and was synced.
        self.sync_due = None;
        if let Some(loaded) = &mut self.loaded {
            (loaded.store, loaded.older_store) = (store, older_store);
            loaded.reading = reading;
            loaded.adopted = false;
            loaded.is_behind = !rest.is_empty();
            loaded.unapplied.retain(|(change, _)| change.number > drafted.point.up_to);
        }
        Ok(())
    }

    /// Changes that belong nowhere are kept in a file of their own.
    fn keep_unapplied(&mut self, up_to: u64) -> Result<(), StoreError> {
        let unapplied = self.loaded()?.unapplied.iter().filter(|(change, _)| change.number <= up_to);
        let unapplied: Vec<String> =
            unapplied.map(|(change, _)| Line::Change(change.clone()).text()).collect();
        if unapplied.is_empty() {
            return Ok(());
        }
        let path = beside(&self.store, UNAPPLIED);
        let file = self.disk.open_append(&path).and_then(plain).doing("open", &path)?;
        let mut kept = Vec::new();
        (&file).read_to_end(&mut kept).doing("read", &path)?;
        let kept = String::from_utf8_lossy(&kept);
        // A fold that failed has kept them already, perhaps in part.
        let mut lines: String = unapplied.into_iter().filter(|line| !kept.contains(line)).collect();
        if !kept.is_empty() && !kept.ends_with('\n') {
            lines.insert(0, '\n');
        }
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
