//! The journal on the disk: one process at a time appends to it, any may read it (`sessions.md` §6).
//!
//! The lock is the system's own on the open file, so it ends with its process. A journal is replaced by
//! another one under the same name when it is folded into the store; who waited for the old one's lock
//! looks again.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use yabby_domain::seam::StoreError;
use yabby_domain::seam::journal::Promise;

use crate::disk::{Disk, Doing, names_file, parent, write_all};
use crate::files::atomic::{Draft, sync_parent};
use crate::files::folder::{open_plain, plain};

pub(super) struct JournalFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    open: Option<File>,
    is_writable: bool,
    was_written: bool,
    leftover: Option<Leftover>,
}

/// Lines that could not be kept and could not be taken back either: they may stand in the journal, in
/// part or whole. They were promised to nobody.
struct Leftover {
    start: u64,
    lines: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl JournalFile {
    pub(super) fn new(disk: Arc<dyn Disk>, path: PathBuf) -> Self {
        Self { disk, path, open: None, is_writable: false, was_written: false, leftover: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it was ever opened to be written.
    pub(super) fn was_written(&self) -> bool {
        self.was_written
    }

    /// Waits for the journal; to write, it is created. `false` if there is none to read.
    pub(super) fn lock(&mut self, access: Access) -> Result<bool, StoreError> {
        loop {
            self.open(access)?;
            let Some(file) = &self.open else { return Ok(false) };
            match access {
                Access::Read => file.lock_shared(),
                Access::Write => file.lock(),
            }
            .doing("lock", &self.path)?;
            if names_file(&self.path, file) {
                self.take_leftover_back(access)?;
                return Ok(true);
            }
            self.open = None;
        }
    }

    pub(super) fn unlock(&mut self) {
        if let Some(file) = &self.open
            && file.unlock().is_err()
        {
            // Closing it lets go of it, too.
            self.open = None;
        }
    }

    /// Takes back what could not be taken back before: nothing may build on it. If somebody else has
    /// done so meanwhile, or began another journal, it is theirs.
    fn take_leftover_back(&mut self, access: Access) -> Result<(), StoreError> {
        let (Some(leftover), Some(file)) = (&self.leftover, &self.open) else { return Ok(()) };
        let rest = read_behind(file, leftover.start, leftover.lines.len() + 1).doing("read", &self.path)?;
        let is_ours_alone = !rest.is_empty() && leftover.lines.starts_with(&rest);
        match (is_ours_alone, access) {
            (true, Access::Read) => return Ok(()),
            (true, Access::Write) => {
                self.disk.truncate(file, leftover.start).doing("truncate", &self.path)?;
            }
            (false, _) => {}
        }
        self.leftover = None;
        Ok(())
    }

    /// Whether something may stand in the journal that should not.
    pub(super) fn has_leftover(&self) -> bool {
        self.leftover.is_some()
    }

    fn open(&mut self, access: Access) -> Result<(), StoreError> {
        if access == Access::Write && !self.is_writable {
            self.open = None;
        }
        if self.open.is_none() {
            self.is_writable = access == Access::Write;
            self.was_written |= self.is_writable;
            self.open = match access {
                Access::Read => self.open_if_there()?,
                Access::Write => Some(self.create()?),
            };
        }
        Ok(())
    }

    fn open_if_there(&self) -> Result<Option<File>, StoreError> {
        match open_plain(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some).doing("open", &self.path),
        }
    }

    fn create(&self) -> Result<File, StoreError> {
        let opened = match self.disk.open_append(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = parent(&self.path);
                self.disk.create_folder(folder).doing("create", folder)?;
                self.disk.open_append(&self.path)
            }
            opened => opened,
        };
        opened.and_then(plain).doing("open", &self.path)
    }

    /// How long the journal is, of what was promised to anybody.
    pub(super) fn len(&self) -> Result<u64, StoreError> {
        let Some(file) = &self.open else { return Ok(0) };
        let length = file.metadata().doing("look at", &self.path)?.len();
        Ok(self.leftover.as_ref().map_or(length, |leftover| leftover.start.min(length)))
    }

    /// Everything from `start` on.
    pub(super) fn read_from(&self, start: u64) -> Result<Vec<u8>, StoreError> {
        let Some(file) = &self.open else { return Ok(Vec::new()) };
        let missing = self.len()?.saturating_sub(start);
        let mut bytes = vec![0; usize::try_from(missing).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut bytes, start).doing("read", &self.path)?;
        Ok(bytes)
    }

    /// The first bytes.
    pub(super) fn read_start(&self, most: usize) -> Result<Vec<u8>, StoreError> {
        let Some(file) = &self.open else { return Ok(Vec::new()) };
        read_behind(file, 0, most).doing("read", &self.path)
    }

    /// Appends lines behind the first `whole` bytes, and comes back when they are as safe as is promised; a new journal
    /// is always synced. Otherwise none of them remains. Everybody can read them from when `written` is called.
    pub(super) fn append(
        &mut self,
        whole: u64,
        lines: &[u8],
        promise: Promise,
        written: impl FnOnce(),
    ) -> Result<(), StoreError> {
        let Some(file) = &self.open else {
            return Err(io::Error::from(io::ErrorKind::NotFound)).doing("append to", &self.path);
        };
        if file.metadata().doing("look at", &self.path)?.len() != whole {
            // Somebody died while writing.
            self.disk.truncate(file, whole).doing("truncate", &self.path)?;
        }
        let appended = write_all(&*self.disk, file, lines).and_then(|()| {
            written();
            if promise == Promise::Durable || whole == 0 { self.disk.sync(file) } else { Ok(()) }
        });
        let appended = appended.doing("append to", &self.path);
        let appended = appended.and_then(|()| match whole {
            0 => sync_parent(&*self.disk, &self.path),
            _ => Ok(()),
        });
        if appended.is_err() {
            let taken_back = self.disk.truncate(file, whole);
            self.leftover = taken_back.is_err().then(|| Leftover { start: whole, lines: lines.to_owned() });
        }
        appended
    }

    /// Takes back what stands behind the first `whole` bytes.
    pub(super) fn take_back(&mut self, whole: u64) -> Result<(), StoreError> {
        self.append(whole, &[], Promise::Durable, || {})
    }

    /// Makes what was written safe.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        let Some(file) = &self.open else { return Ok(()) };
        self.disk.sync(file).doing("sync", &self.path)
    }

    /// Begins a new journal with these lines in the place of this one. The lock is let go of.
    pub(super) fn replace(&mut self, header: &str, lines: &[u8]) -> Result<(), StoreError> {
        let text = [header.as_bytes(), lines].concat();
        Draft::write(&*self.disk, &self.path, &text)?.place()?;
        // The lock was on the old one.
        self.open = None;
        Ok(())
    }

    /// Takes the journal away; only while it is locked, and when nothing in it is needed.
    pub(super) fn remove(&mut self) -> Result<(), StoreError> {
        self.disk.remove(&self.path).doing("remove", &self.path)?;
        self.open = None;
        Ok(())
    }
}

/// At most so many bytes from `start` on.
fn read_behind(file: &File, start: u64, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; most];
    let read = file.read_at(&mut bytes, start)?;
    bytes.truncate(read);
    Ok(bytes)
}
