//! Bringing `sessions.json` up to date: the slow part, on a thread of its own (`sessions.md` §6).
//!
//! Meanwhile updates go on. The store's lock file is held from before the snapshot is taken until the
//! new store is in its place, so that nobody who takes it, too, writes in between.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use yabby_domain::seam::{Clock, StoreError};

use super::catalog::Catalog;
use super::keeper::Message;
use super::lock_file::StoreLock;
use crate::disk::{Disk, shown};
use crate::files::atomic::Draft;

/// A store to be written.
pub(super) struct Snapshot {
    pub(super) catalog: Catalog,
    /// The last change in it.
    pub(super) up_to: u64,
    /// Where in the journal the first change stands that is not in it.
    pub(super) journal_end: u64,
    /// Which file the store was.
    pub(super) base: String,
}

/// A new store that waits to be put in its place.
pub(super) struct Drafted {
    pub(super) path: PathBuf,
    pub(super) up_to: u64,
    pub(super) journal_end: u64,
    pub(super) base: String,
}

/// What became of the draft of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placed {
    InPlace,
    /// Somebody wrote the store without asking for the lock; the draft would undo that.
    StoreChanged,
}

/// The draft could not be put in its place.
pub(super) struct Unplaced {
    pub(super) error: StoreError,
    /// The journal says that the draft is about to be put in its place, and that could not be taken
    /// back: the draft has to stay, or the journal would be thought to be folded.
    pub(super) draft_stays: bool,
}

impl From<StoreError> for Unplaced {
    fn from(error: StoreError) -> Self {
        Self { error, draft_stays: false }
    }
}

/// Writes a new store; asks the keeper for what to write, and to put it in its place.
pub(super) fn fold(
    disk: &Arc<dyn Disk>,
    clock: &dyn Clock,
    store: &Path,
    keeper: &Sender<Message>,
) -> Result<(), StoreError> {
    /// Programs that ignore the lock are no reason to try for ever.
    const ATTEMPTS: usize = 5;
    let _lock = StoreLock::acquire(disk.clone(), clock, store)?;
    for _ in 0..ATTEMPTS {
        let Some(snapshot) = ask(keeper, store, |reply| Message::Snapshot { reply })?? else {
            return Ok(());
        };
        let draft = Draft::write(&**disk, store, snapshot.catalog.text().as_bytes())?;
        let Snapshot { up_to, journal_end, base, .. } = snapshot;
        let drafted = Drafted { path: draft.path().to_owned(), up_to, journal_end, base };
        match ask(keeper, store, |reply| Message::Place { drafted, reply })? {
            Ok(Placed::InPlace) => {
                draft.let_be();
                return Ok(());
            }
            Ok(Placed::StoreChanged) => {}
            Err(unplaced) => {
                if unplaced.draft_stays {
                    draft.let_be();
                }
                return Err(unplaced.error);
            }
        }
    }
    Err(StoreError::Busy { path: shown(store) })
}

fn ask<T>(
    keeper: &Sender<Message>,
    store: &Path,
    message: impl FnOnce(mpsc::Sender<T>) -> Message,
) -> Result<T, StoreError> {
    let closed = || StoreError::Closed { path: shown(store) };
    let (reply, answer) = mpsc::channel();
    keeper.send(message(reply)).map_err(|_| closed())?;
    answer.recv().map_err(|_| closed())
}
