//! Going on with a conversation (`transcripts.md` §4).

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{Mutex, OwnedMutexGuard};
use yabby_domain::seam::{StoreError, TranscriptWriter};
use yabby_domain::transcript::Transcript;
use yabby_domain::transcript::file::{Planned, TranscriptFile};
use yabby_domain::transcript::header::NewSession;
use yabby_domain::transcript::tree::{BranchSummary, NewEntry};

use super::pen::Pen;
use super::{TranscriptFolder, blocking};

/// A conversation that is being written, for those who may wait for the disk. It is let go of when this
/// is dropped.
pub struct Writer {
    pub(super) memory: Memory,
    pub(super) pen: Pen,
}

impl Writer {
    /// See [`TranscriptWriter::transcript`].
    pub fn transcript(&self) -> &Transcript {
        self.memory.file.transcript()
    }

    /// Reads what stands before the entries in memory, if anything does.
    pub(super) fn load_whole(&mut self) -> Result<(), StoreError> {
        if self.transcript().is_whole() { Ok(()) } else { self.memory.widen(&self.pen) }
    }

    /// See [`TranscriptWriter::append`].
    pub fn append(&mut self, entries: Vec<NewEntry>) -> Result<Vec<String>, StoreError> {
        if self.memory.lacks_target_of(&entries) {
            self.memory.widen(&self.pen)?;
        }
        let planned = self.memory.plan(entries)?;
        self.write(planned)
    }

    /// See [`TranscriptWriter::move_leaf`].
    pub fn move_leaf(&mut self, id: Option<&str>) -> Result<(), StoreError> {
        if self.memory.lacks_branch_to(id) {
            self.memory.widen(&self.pen)?;
        }
        self.memory.move_leaf(id)
    }

    /// See [`TranscriptWriter::branch`].
    pub fn branch(&mut self, id: Option<&str>, left: BranchSummary) -> Result<String, StoreError> {
        if self.memory.lacks_branch_to(id) {
            self.memory.widen(&self.pen)?;
        }
        let planned = self.memory.plan_summary(id, left)?;
        Ok(self.write(planned)?.pop().unwrap_or_default())
    }

    fn write(&mut self, planned: Planned) -> Result<Vec<String>, StoreError> {
        self.pen.write(&planned.write)?;
        let ids = planned.ids();
        self.memory.file.keep(planned);
        Ok(ids)
    }

    /// The same for those who must not wait.
    pub(super) fn into_async(self) -> AsyncWriter {
        let desk = Desk { pen: self.pen, written: Vec::new() };
        AsyncWriter { memory: self.memory, desk: Arc::new(Mutex::new(desk)) }
    }
}

/// The conversation, or of a long one its end.
pub(super) struct Memory {
    pub(super) folder: TranscriptFolder,
    pub(super) file: TranscriptFile,
}

impl Memory {
    fn plan(&self, entries: Vec<NewEntry>) -> Result<Planned, StoreError> {
        Ok(self.folder.stamped(|stamp| self.file.plan(entries, stamp))?)
    }

    fn plan_summary(&self, target: Option<&str>, left: BranchSummary) -> Result<Planned, StoreError> {
        Ok(self.folder.stamped(|stamp| self.file.plan_summary(target, left, stamp))?)
    }

    fn move_leaf(&mut self, id: Option<&str>) -> Result<(), StoreError> {
        match id {
            Some(id) => self.file.move_leaf(id)?,
            None => self.file.reset_leaf(),
        }
        Ok(())
    }

    /// Whether a label is meant for an entry that may stand before those in memory.
    fn lacks_target_of(&self, entries: &[NewEntry]) -> bool {
        let transcript = self.file.transcript();
        let is_unknown = |entry: &NewEntry| match entry {
            NewEntry::Label { target, .. } => transcript.entry(target).is_none(),
            _ => false,
        };
        !transcript.is_whole() && entries.iter().any(is_unknown)
    }

    /// Whether the branch to an entry leads out of those in memory.
    fn lacks_branch_to(&mut self, id: Option<&str>) -> bool {
        let Some(id) = id.filter(|_| !self.file.transcript().is_whole()) else { return false };
        let leaf = self.file.transcript().leaf_id().map(str::to_owned);
        if self.file.move_leaf(id).is_err() {
            return true;
        }
        let lacks = !self.file.transcript().knows_its_context();
        // The leaf was known a moment ago.
        let _ = self.move_leaf(leaf.as_deref());
        lacks
    }

    /// Reads what stands before the entries in memory.
    fn widen(&mut self, pen: &Pen) -> Result<(), StoreError> {
        self.take_whole(self.folder.whole_file(pen.path(), self.file.cwd())?)
    }

    fn take_whole(&mut self, mut whole: TranscriptFile) -> Result<(), StoreError> {
        match self.file.transcript().leaf_id() {
            Some(leaf) => whole.move_leaf(leaf)?,
            None => whole.reset_leaf(),
        }
        self.file = whole;
        Ok(())
    }
}

/// A conversation that is being written while others go on.
pub(super) struct AsyncWriter {
    memory: Memory,
    /// Where the writing is done. Whoever stops waiting for it does not stop it: what was written is taken
    /// in by the next one who asks.
    desk: Arc<Mutex<Desk>>,
}

struct Desk {
    pen: Pen,
    /// What was written and is not in memory yet.
    written: Vec<Planned>,
}

impl AsyncWriter {
    /// Waits for what is being written.
    async fn desk(&mut self) -> OwnedMutexGuard<Desk> {
        let mut desk = Arc::clone(&self.desk).lock_owned().await;
        for planned in desk.written.drain(..) {
            self.memory.file.keep(planned);
        }
        desk
    }

    async fn widen(&mut self, desk: &OwnedMutexGuard<Desk>) -> Result<(), StoreError> {
        let folder = self.memory.folder.clone();
        let (path, cwd) = (desk.pen.path().to_owned(), self.memory.file.cwd().to_owned());
        let whole = blocking(move || folder.whole_file(&path, &cwd)).await?;
        self.memory.take_whole(whole)
    }

    async fn write(
        &mut self,
        mut desk: OwnedMutexGuard<Desk>,
        planned: Planned,
    ) -> Result<Vec<String>, StoreError> {
        let ids = planned.ids();
        blocking(move || {
            desk.pen.write(&planned.write)?;
            desk.written.push(planned);
            Ok(())
        })
        .await?;
        drop(self.desk().await);
        Ok(ids)
    }
}

impl Drop for AsyncWriter {
    fn drop(&mut self) {
        // If somebody still writes, what is in memory is not all of it.
        let Ok(mut desk) = self.desk.try_lock() else { return };
        for planned in desk.written.drain(..) {
            self.memory.file.keep(planned);
        }
        if let Some(state) = desk.pen.known_state() {
            let folder = self.memory.folder.clone();
            let nothing = NewSession { id: "", cwd: "", parent: None };
            let empty = folder.stamped(|stamp| TranscriptFile::begin(nothing, stamp));
            let file = std::mem::replace(&mut self.memory.file, empty);
            folder.cache.keep(desk.pen.path(), state, file);
        }
    }
}

#[async_trait]
impl TranscriptWriter for AsyncWriter {
    fn transcript(&self) -> &Transcript {
        self.memory.file.transcript()
    }

    async fn append(&mut self, entries: Vec<NewEntry>) -> Result<Vec<String>, StoreError> {
        let desk = self.desk().await;
        if self.memory.lacks_target_of(&entries) {
            self.widen(&desk).await?;
        }
        let planned = self.memory.plan(entries)?;
        self.write(desk, planned).await
    }

    async fn move_leaf(&mut self, id: Option<&str>) -> Result<(), StoreError> {
        let desk = self.desk().await;
        if self.memory.lacks_branch_to(id) {
            self.widen(&desk).await?;
        }
        self.memory.move_leaf(id)
    }

    async fn branch(&mut self, id: Option<&str>, left: BranchSummary) -> Result<String, StoreError> {
        let desk = self.desk().await;
        if self.memory.lacks_branch_to(id) {
            self.widen(&desk).await?;
        }
        let planned = self.memory.plan_summary(id, left)?;
        Ok(self.write(desk, planned).await?.pop().unwrap_or_default())
    }
}
