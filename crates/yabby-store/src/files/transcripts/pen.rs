//! Writing to a transcript so that nothing is lost and nothing is torn (`transcripts.md` §4).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::transcript::file::Write;

use super::lock::TranscriptLock;
use crate::disk::{Disk, Doing, beside, names_file, shown, write_all};
use crate::file_state::FileState;
use crate::files::atomic::{Draft, sync_parent};
use crate::files::folder::{open_inside, resolved_inside};

/// The one who writes a transcript, until this is dropped.
pub(super) struct Pen {
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    path: PathBuf,
    exists: bool,
    file: Option<Appender>,
    journal: Option<Appender>,
    /// The name of the journal is known to be durable.
    journal_is_named: bool,
    /// The file holds everything that is in the journal.
    journal_is_done: bool,
    /// How long the file is, if its reader knows all of it.
    known_length: Option<u64>,
    /// A file that was put in its place, but whose name may not be durable: it was not acknowledged.
    unproven: Option<File>,
    lock: TranscriptLock,
}

impl Pen {
    /// For a transcript that was locked and put in order; `journal_is_done` if there is a journal of no
    /// use.
    pub(super) fn new(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        path: PathBuf,
        lock: TranscriptLock,
        journal_is_done: bool,
    ) -> Result<Self, StoreError> {
        let exists = open_inside(&path)?.is_some();
        let mut pen = Self {
            disk,
            clock,
            path,
            exists,
            file: None,
            journal: None,
            journal_is_named: false,
            journal_is_done,
            known_length: None,
            unproven: None,
            lock,
        };
        pen.drop_journal();
        Ok(pen)
    }

    /// For somebody who knows all of a file of this length.
    pub(super) fn after_reading(mut self, length: Option<u64>) -> Self {
        self.known_length = length;
        self
    }

    /// How the file looks, if it holds what was read and written here, and nothing else.
    pub(super) fn known_state(&self) -> Option<FileState> {
        let is_sound = self.unproven.is_none()
            && self
                .file
                .as_ref()
                .is_none_or(|file| file.failed.is_none() && names_file(&self.path, &file.file))
            && beside(&self.path, ".journal").symlink_metadata().is_err();
        let state = FileState::of_readable(&self.path);
        (is_sound && Some(state.size()) == self.known_length).then_some(state)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Comes back when the text cannot be lost any more; of an error nothing remains.
    pub(super) fn write(&mut self, write: &Write) -> Result<(), StoreError> {
        self.lock.keep(&*self.clock)?;
        self.take_back_unproven()?;
        match write {
            Write::Journal(text) => self.write_journal(text.as_bytes()),
            Write::File(text) => {
                let file = match &mut self.file {
                    Some(file) => Some(file),
                    none if self.exists => Some(none.insert(Appender::open(&*self.disk, &self.path)?)),
                    _ => None,
                };
                let known = self.known_length.take();
                match file {
                    Some(file) => {
                        let before = file.append(&*self.disk, text.as_bytes())?;
                        self.known_length = (known == Some(before)).then_some(file.length);
                    }
                    None => {
                        self.create(text.as_bytes())?;
                        self.known_length = Some(text.len() as u64);
                    }
                }
                self.journal_is_done = true;
                self.drop_journal();
                Ok(())
            }
        }
    }

    fn write_journal(&mut self, text: &[u8]) -> Result<(), StoreError> {
        let path = beside(&self.path, ".journal");
        let journal = match &mut self.journal {
            Some(journal) => journal,
            none => {
                resolved_inside(&path)?;
                let mut journal = Appender::open(&*self.disk, &path)?;
                journal.drop_torn_line(&*self.disk)?;
                none.insert(journal)
            }
        };
        if !self.journal_is_named {
            sync_parent(&*self.disk, &path)?;
            self.journal_is_named = true;
        }
        journal.append(&*self.disk, text).map(drop)
    }

    /// Makes the file, which appears whole or not at all.
    fn create(&mut self, text: &[u8]) -> Result<(), StoreError> {
        let draft = Draft::write(&*self.disk, &self.path, text)?;
        let drafted = File::open(draft.path()).doing("open", draft.path())?;
        if !draft.claim()? {
            // Somebody began it without asking for the lock.
            return Err(StoreError::Replaced { path: shown(&self.path) });
        }
        self.unproven = Some(drafted);
        if let Err(error) = sync_parent(&*self.disk, &self.path) {
            let _ = self.take_back_unproven();
            return Err(error);
        }
        self.unproven = None;
        self.exists = true;
        Ok(())
    }

    fn take_back_unproven(&mut self) -> Result<(), StoreError> {
        if let Some(file) = &self.unproven {
            if names_file(&self.path, file) {
                self.disk.remove(&self.path).doing("remove", &self.path)?;
            }
            self.unproven = None;
        }
        Ok(())
    }

    /// Removes a journal of no use. One that stays does no harm: readers see that the file holds its
    /// lines.
    fn drop_journal(&mut self) {
        if self.journal_is_done {
            self.journal = None;
            let path = beside(&self.path, ".journal");
            let is_gone = path.symlink_metadata().is_err() || self.disk.remove(&path).is_ok();
            self.journal_is_done = !is_gone;
            self.journal_is_named &= !is_gone;
        }
    }
}

impl Drop for Pen {
    fn drop(&mut self) {
        let _ = self.take_back_unproven();
        self.drop_journal();
    }
}

/// A file that is only ever added to.
struct Appender {
    path: PathBuf,
    file: File,
    /// How long it is, as far as it is known to be in order.
    length: u64,
    /// Its last line is known to be ended.
    is_ended: bool,
    /// Bytes that were not acknowledged and may stand behind that, in part.
    failed: Option<Vec<u8>>,
}

impl Appender {
    fn open(disk: &dyn Disk, path: &Path) -> Result<Self, StoreError> {
        let file = disk.open_append(path).doing("open", path)?;
        let length = file.metadata().doing("look at", path)?.len();
        Ok(Self { path: path.to_owned(), file, length, is_ended: false, failed: None })
    }

    fn drop_torn_line(&mut self, disk: &dyn Disk) -> Result<(), StoreError> {
        let mut text = vec![0; usize::try_from(self.length).unwrap_or_default()];
        self.file.read_exact_at(&mut text, 0).doing("read", &self.path)?;
        let whole = yabby_domain::transcript::journal::whole_lines(&text).len() as u64;
        if whole < self.length {
            disk.truncate(&self.file, whole).doing("cut off", &self.path)?;
            self.length = whole;
        }
        Ok(())
    }

    /// Adds to the file; how long it was before, whoever wrote that.
    fn append(&mut self, disk: &dyn Disk, bytes: &[u8]) -> Result<u64, StoreError> {
        self.take_back(disk)?;
        let length = self.file.metadata().doing("look at", &self.path)?.len();
        if length < self.length || !names_file(&self.path, &self.file) {
            // Somebody replaced it or cut it off without asking for the lock.
            return Err(StoreError::Replaced { path: shown(&self.path) });
        }
        let mut bytes = bytes.to_vec();
        // Somebody else may have added to it; that is never glued to.
        let is_ended = self.is_ended && length == self.length;
        if !is_ended && length > 0 && bytes.first() != Some(&b'\n') && !self.ends_in_line_feed(length)? {
            bytes.insert(0, b'\n');
        }
        self.length = length;
        self.is_ended = false;
        let written = write_all(disk, &self.file, &bytes).doing("write", &self.path);
        match written.and_then(|()| disk.sync(&self.file).doing("sync", &self.path)) {
            Ok(()) => {
                self.length += bytes.len() as u64;
                self.is_ended = true;
                Ok(length)
            }
            Err(error) => {
                self.failed = Some(bytes);
                // If this fails as well, it is tried again before anything else is written.
                let _ = self.take_back(disk);
                Err(error)
            }
        }
    }

    /// Cuts off what was not acknowledged, unless somebody else has added something behind it: then it
    /// is left there, and ended before anything follows.
    fn take_back(&mut self, disk: &dyn Disk) -> Result<(), StoreError> {
        let Some(failed) = &self.failed else { return Ok(()) };
        let behind = self.file.metadata().doing("look at", &self.path)?.len().saturating_sub(self.length);
        let behind = usize::try_from(behind).unwrap_or(usize::MAX);
        if let Some(own) = failed.get(..behind).filter(|own| !own.is_empty()) {
            let mut found = vec![0; own.len()];
            self.file.read_exact_at(&mut found, self.length).doing("read", &self.path)?;
            if found == own {
                disk.truncate(&self.file, self.length).doing("cut off", &self.path)?;
                // The cut is durable with the next append at the latest.
                let _ = disk.sync(&self.file);
            }
        }
        self.failed = None;
        Ok(())
    }

    fn ends_in_line_feed(&self, length: u64) -> Result<bool, StoreError> {
        let mut last = [0];
        self.file.read_exact_at(&mut last, length.saturating_sub(1)).doing("read", &self.path)?;
        Ok(last == *b"\n")
    }
}
