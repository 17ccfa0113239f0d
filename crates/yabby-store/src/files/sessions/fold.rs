//! Bringing `sessions.json` up to date: the slow part, on a thread of its own (`sessions.md` §6).
//!
//! Meanwhile updates go on. The store's lock file is held from before the snapshot is taken until the
//! new store is in its place, so that nobody who takes it, too, writes in between.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use uuid::Uuid;
use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::session::store_lock::Process;

use super::catalog::Catalog;
use super::keeper::Message;
use super::lock;
use crate::disk::{Disk, beside, shown};
use crate::files::atomic::{Draft, sync_parent};
use crate::process;

/// A store to be written.
pub(super) struct Snapshot {
    pub(super) catalog: Catalog,
    pub(super) point: Point,
}

/// A new store that waits to be put in its place.
pub(super) struct Drafted {
    pub(super) path: PathBuf,
    pub(super) point: Point,
}

/// The moment at which a snapshot was taken.
pub(super) struct Point {
    /// The last change in it.
    pub(super) up_to: u64,
    /// Which file the store was.
    pub(super) base: String,
    pub(super) journal_id: Option<String>,
    /// Where in the journal the first change stands that is not in it.
    pub(super) journal_end: u64,
}

/// What became of the draft of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placed {
    InPlace,
    /// Somebody wrote the store without asking for the lock, or began another journal; the draft would
    /// undo that.
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
    let _lock = lock::acquire(disk, clock, store)?;
    remove_abandoned_drafts(&**disk, store);
    for _ in 0..ATTEMPTS {
        let Some(snapshot) = ask(keeper, store, |reply| Message::Snapshot { reply })?? else {
            return Ok(());
        };
        let draft = Draft::write(&**disk, store, snapshot.catalog.text().as_bytes())?;
        // A draft that is gone counts as placed, so a power failure must not take it away.
        sync_parent(&**disk, store)?;
        let drafted = Drafted { path: draft.path().to_owned(), point: snapshot.point };
        let placed = ask(keeper, store, |reply| Message::Place { drafted, reply });
        // If there is no answer, nobody knows what the journal says.
        match placed.unwrap_or_else(|error| Err(Unplaced { error, draft_stays: true })) {
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

/// Removes drafts of the store, its journal and its lock whose writers died. Nobody else writes one while
/// we hold the lock, and one that the journal still speaks of is not removed here.
fn remove_abandoned_drafts(disk: &dyn Disk, store: &Path) {
    let Some(folder) = store.parent() else { return };
    let journal = match fs::read(beside(store, ".journal")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return,
        journal => journal.unwrap_or_default(),
    };
    let journal = String::from_utf8_lossy(&journal);
    let Ok(files) = fs::read_dir(folder) else { return };
    for file in files.flatten() {
        let draft = file.file_name().to_string_lossy().into_owned();
        let is_gone = writer_of(store, &draft).is_some_and(|pid| process::look_up(pid) == Process::Gone);
        if is_gone && !journal.contains(&draft) {
            let _ = disk.remove(&file.path());
        }
    }
}

/// Who wrote a draft of the store, which is called `<store>.<pid>.<uuid>.tmp`, or of its journal or its
/// lock; `None` if it is none.
pub(super) fn writer_of(store: &Path, draft: &str) -> Option<i64> {
    let ending = draft.strip_prefix(&*store.file_name()?.to_string_lossy())?;
    let of_what = [".journal", ".lock"].iter().find_map(|kind| ending.strip_prefix(kind));
    let ending = of_what.unwrap_or(ending);
    let (pid, id) = ending.strip_prefix('.')?.strip_suffix(".tmp")?.split_once('.')?;
    Uuid::try_parse(id).ok()?;
    pid.parse().ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_names_its_writer() {
        let writer_of =
            |ending: &str| writer_of(Path::new("/s/sessions.json"), &format!("sessions.json{ending}"));
        let id = "5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11";
        assert_eq!(writer_of(&format!(".42.{id}.tmp")), Some(42));
        assert_eq!(writer_of(&format!(".journal.7.{id}.tmp")), Some(7));
        assert_eq!(writer_of(&format!(".lock.7.{id}.tmp")), Some(7));
        for other in ["", ".tmp", ".42.notes.tmp", ".bak.2026.tmp", ".journal", &format!(".x.{id}.tmp")] {
            assert_eq!(writer_of(other), None, "{other}");
        }
    }
}
