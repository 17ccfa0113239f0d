//! The file that this process writes: only ever added to, locked from before it has a name.
//!
//! What was promised stays in it, what failed does not: it is cut off, and where that cannot be done the
//! file is written anew, under the same name, without it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;
use yabby_domain::seam::StoreError;

use crate::disk::{Disk, Doing, beside, names_file, parent, write_all};
use crate::files::atomic::sync_parent;
use crate::files::keeping::keep_by_content;

pub(super) struct OwnFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    open: Option<File>,
    /// How long it is, as far as it is in order.
    length: u64,
    /// Something may stand behind that, which was promised to nobody.
    has_leftover: bool,
    /// What was promised, and had to be taken out together with something that failed. It is written
    /// before anything else is.
    owed: Vec<u8>,
    /// Its name survives a power failure.
    is_named: bool,
    /// Its text survives a power failure.
    is_synced: bool,
    /// A sync failed. The system takes its text for written from then on, whether it is or not, so that
    /// only another file with the same text can be relied on.
    is_doubtful: bool,
}

impl OwnFile {
    pub(super) fn new(disk: Arc<dyn Disk>, path: PathBuf) -> Self {
        Self {
            disk,
            path,
            open: None,
            length: 0,
            has_leftover: false,
            owed: Vec::new(),
            is_named: false,
            is_synced: true,
            is_doubtful: false,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the next line begins.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Adds lines, and tells where they begin; of an error nothing remains.
    pub(super) fn write(&mut self, lines: &[u8]) -> Result<u64, StoreError> {
        self.make_ready()?;
        let Some(file) = &self.open else { return Ok(self.length) };
        let start = self.length + self.owed.len() as u64;
        let bytes = [self.owed.as_slice(), lines].concat();
        if let Err(error) = write_all(&*self.disk, file, &bytes) {
            self.cut_off();
            return Err(error).doing("write", &self.path);
        }
        self.length += bytes.len() as u64;
        self.owed.clear();
        self.is_synced = false;
        Ok(start)
    }

    /// Comes back when everything that was written survives a power failure.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        let Some(file) = &self.open else { return Ok(()) };
        if !self.is_synced
            && let Err(error) = self.disk.sync(file)
        {
            self.is_doubtful = true;
            let replaced = self.text().and_then(|text| self.replace(&text));
            replaced.or(Err(error).doing("sync", &self.path))?;
        }
        self.is_synced = true;
        if !self.is_named {
            sync_parent(&*self.disk, &self.path)?;
            self.is_named = true;
        }
        Ok(())
    }

    /// Takes back what was added behind the first `length` bytes, except for these lines, which were
    /// promised to somebody.
    pub(super) fn take_back(&mut self, length: u64, promised: Vec<u8>) {
        self.length = length;
        self.owed = promised;
        self.cut_off();
        self.flush();
    }

    /// Writes what is owed to anybody, if there is something.
    pub(super) fn flush(&mut self) {
        if !self.owed.is_empty() {
            // If this fails, it is tried again before anything else is written.
            let _ = self.write(&[]);
        }
    }

    /// Everything that was promised, as it stands in the file.
    pub(super) fn text(&self) -> Result<Vec<u8>, StoreError> {
        let Some(file) = &self.open else { return Ok(self.owed.clone()) };
        let mut text = vec![0; usize::try_from(self.length).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut text, 0).doing("read", &self.path)?;
        text.extend_from_slice(&self.owed);
        Ok(text)
    }

    /// Puts a file with this text in the place of the present one, in one step. It is locked before
    /// anybody can see it, and its text survives a power failure; its name does after a [`Self::sync`].
    pub(super) fn replace(&mut self, text: &[u8]) -> Result<(), StoreError> {
        let folder = parent(&self.path);
        if !folder.is_dir() {
            self.disk.create_folder(folder).doing("create", folder)?;
        }
        let draft = beside(&self.path, &format!(".{}.{}.tmp", std::process::id(), Uuid::new_v4()));
        let file = self.disk.create_new(&draft).doing("create", &draft)?;
        let placed = self.place(&file, &draft, text);
        if placed.is_err() {
            // What is left behind is only a draft.
            let _ = self.disk.remove(&draft);
        }
        placed?;
        self.open = Some(file);
        self.length = text.len() as u64;
        self.has_leftover = false;
        self.owed.clear();
        self.is_named = false;
        self.is_synced = true;
        self.is_doubtful = false;
        Ok(())
    }

    fn place(&self, file: &File, draft: &Path, text: &[u8]) -> Result<(), StoreError> {
        file.try_lock().map_err(io::Error::from).doing("lock", draft)?;
        if !text.is_empty() {
            write_all(&*self.disk, file, text).doing("write", draft)?;
            self.disk.sync(file).doing("sync", draft)?;
        }
        self.disk.rename(draft, &self.path).doing("create", &self.path)
    }

    /// Keeps a copy of the file as it is, before it is written anew.
    pub(super) fn keep_copy(&self) -> Result<PathBuf, StoreError> {
        keep_by_content(&*self.disk, &self.path, &self.text()?, "damaged")
    }

    /// Takes the file away; only when nothing in it is needed.
    pub(super) fn remove(&mut self) -> Result<(), StoreError> {
        let Some(file) = &self.open else { return Ok(()) };
        if !self.is_synced {
            // Should the name come back after a power failure, it has to say that all is settled.
            self.disk.sync(file).doing("sync", &self.path)?;
        }
        if names_file(&self.path, file) {
            self.disk.remove(&self.path).doing("remove", &self.path)?;
        }
        *self = Self::new(self.disk.clone(), self.path.clone());
        Ok(())
    }

    /// Brings the file in order and under its name.
    fn make_ready(&mut self) -> Result<(), StoreError> {
        if self.has_leftover {
            self.cut_off();
        }
        // Somebody may have cleaned up the folder without asking.
        let is_there = self.open.as_ref().is_some_and(|file| names_file(&self.path, file));
        if self.has_leftover || self.is_doubtful || !is_there {
            let text = self.text()?;
            self.replace(&text)?;
        }
        Ok(())
    }

    fn cut_off(&mut self) {
        let Some(file) = &self.open else { return };
        self.has_leftover = self.disk.truncate(file, self.length).is_err();
        if !self.has_leftover {
            // What failed must not come back with a power failure either.
            self.is_doubtful |= self.disk.sync(file).is_err();
        }
    }
}
