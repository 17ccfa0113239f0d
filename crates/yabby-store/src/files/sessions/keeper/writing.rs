//! Making changes durable: a line each in the journal, one sync for all that wait (`sessions.md` §6).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use uuid::Uuid;
use yabby_domain::delivery;
use yabby_domain::json;
use yabby_domain::seam::journal::Promise;
use yabby_domain::seam::{Change, StoreError};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::store_journal::{self, Line, difference, keeps_order};

use super::super::catalog::TooDeep;
use super::super::earlier;
use super::super::mirror::Records;
use super::{Fold, Keeper};
use crate::file_state::FileState;

/// How long what was only written may wait for others that want to be synced.
const SYNC_AFTER: Duration = Duration::from_millis(25);

pub(super) struct Update {
    pub(super) key: SessionKey,
    pub(super) change: Change,
    pub(super) promise: Promise,
    pub(super) reply: oneshot::Sender<Result<Option<SessionEntry>, StoreError>>,
}

impl Keeper {
    /// Makes changes, and answers when all of them are as safe as was asked for. If they cannot be kept, none is made.
    pub(super) fn commit(&mut self, updates: Vec<Update>) {
        if updates.is_empty() {
            return;
        }
        let mut made = Vec::with_capacity(updates.len());
        let mut waiting = Vec::with_capacity(updates.len());
        let mut updates = Some(updates);
        let kept: Result<(), StoreError> = self.locked(|keeper| {
            let mut lines = String::new();
            let mut changed = Vec::new();
            let mut wanted = Promise::Written;
            let mut replaced = String::new();
            for Update { key, change, promise, reply } in updates.take().into_iter().flatten() {
                if promise == Promise::Durable {
                    wanted = promise;
                }
                let record = keeper.make(&key, change, &mut lines, &mut replaced);
                if let Ok(record) = &record {
                    changed.push((key, record.clone()));
                }
                made.push(record);
                waiting.push(reply);
            }
            keeper.keep(lines, wanted, changed)?;
            keeper.keep_earlier(&replaced);
            Ok(())
        });
        if let Err(error) = &kept {
            // What is in memory may be ahead of the disk now.
            self.loaded = None;
            self.mirror.follow(None);
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

    /// Makes one change in memory, and adds its line, and one to `replaced` if it ends a conversation.
    fn make(
        &mut self,
        key: &SessionKey,
        change: Change,
        lines: &mut String,
        replaced: &mut String,
    ) -> Result<Option<SessionEntry>, StoreError> {
        let at = self.clock.now();
        let before = self.loaded()?.catalog.entry(key.as_str()).map_err(|TooDeep| self.too_deep(key))?;
        let mut after = before.clone();
        catch_unwind(AssertUnwindSafe(|| change(&mut after)))
            .map_err(|_| StoreError::ChangePanicked { key: key.as_str().to_owned() })?;
        if let Some(entry) = &mut after
            && let Some(patch) = delivery::normalize_entry(entry)
        {
            entry.apply(&patch);
        }
        let Some(kind) = difference(before.as_ref(), after.as_ref()) else { return Ok(before) };
        let ended = earlier::line(key, before.as_ref(), after.as_ref(), at);
        // What was changed need not be changed again in a copy, unless whoever reads the line would put
        // the fields in another order.
        let record = if keeps_order(before.as_ref(), after.as_ref()) {
            after
        } else {
            let mut record = before;
            // The record is the one that the difference was taken from.
            let _ = kind.apply(&mut record);
            record
        };
        let number = self.loaded()?.last_number + 1;
        let change = store_journal::Change { number, at, key: key.as_str().to_owned(), kind };
        let line = Line::Change(change).text();
        // What could not be read again is not promised: a line has more levels than its record.
        if may_be_deep(&line) && Line::parse(line.trim_end()).is_none() {
            return Err(self.too_deep(key));
        }
        lines.push_str(&line);
        replaced.extend(ended);
        if let Some(loaded) = &mut self.loaded {
            loaded.put(key.as_str(), record.clone());
            loaded.last_number = number;
        }
        Ok(record)
    }

    /// Appends lines to the journal; comes back when they are safe. Whoever only looks at a record sees it when
    /// every other process could, which is before that.
    fn keep(&mut self, lines: String, promise: Promise, changed: Records) -> Result<(), StoreError> {
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
        let journal = self.journal.path().to_owned();
        let has_older = self.older_store.is_some();
        let written = || {
            self.mirror.move_on(loaded.stamp(FileState::of_readable(&journal), has_older), changed);
        };
        self.journal.append(loaded.journal_end, lines.as_bytes(), promise, written)?;
        self.sync_due = match promise {
            Promise::Durable => None,
            Promise::Written => self.sync_due.or_else(|| Some(Instant::now() + SYNC_AFTER)),
        };
        loaded.journal_end += lines.len() as u64;
        (loaded.is_behind, loaded.is_in_use) = (true, true);
        match &mut self.fold {
            Fold::Idle => self.fold = self.fold_due(),
            Fold::Running { again, .. } => *again = true,
            Fold::Due(_) => {}
        }
        Ok(())
    }

    /// Notes which conversations have ended. The change is safe without that.
    fn keep_earlier(&mut self, lines: &str) {
        if lines.is_empty() {
            return;
        }
        if let Err(error) = earlier::append(&*self.disk, &self.store, lines) {
            self.notice(format!("earlier conversations are not noted for now: {error}"));
        }
    }

    /// Makes what was only written safe.
    pub(super) fn sync_written(&mut self) {
        self.sync_due = None;
        if let Err(error) = self.locked(|keeper| keeper.journal.sync()) {
            self.notice(format!("what was noted last may not survive a power failure: {error}"));
        }
    }
}

/// Whether a line has brackets enough to be nested deeper than we read.
fn may_be_deep(line: &str) -> bool {
    line.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count() > json::MAX_DEPTH
}

/// A name for a new journal, and its first line.
pub(in super::super) fn new_header() -> (String, String) {
    let id = Uuid::new_v4().to_string();
    (id.clone(), Line::Header { id }.text())
}
