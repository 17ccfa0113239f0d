//! A lock file, as OpenClaw and yabby put one beside what they write (`sessions.md` §6,
//! `transcripts.md` §7.4).
//!
//! Who may take it and how long to wait for it is a matter of its kind. Of every kind: it appears with
//! its text, since an empty one is anybody's; and of those who find one abandoned only one removes it,
//! and never the fresh one that somebody put in its place.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

use super::folder::open_plain;
use super::keeping::cannot_link;
use crate::disk::{Disk, beside, names_file, write_all};

/// A lock that we hold until this is dropped.
pub(crate) struct LockFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// The lock itself, which tells whether it is still the one that we made.
    file: File,
}

impl LockFile {
    /// Takes the lock; `None` if somebody has it.
    pub(crate) fn create(disk: &Arc<dyn Disk>, path: &Path, text: &str) -> io::Result<Option<Self>> {
        let (draft, file) = draft(&**disk, path, text)?;
        let linked = disk.link(&draft, path);
        let _ = disk.remove(&draft);
        let file = match linked {
            Ok(()) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(error) if cannot_link(&error) => match disk.create_new(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
                file => written(&**disk, path, file?, text)?,
            },
            Err(error) => return Err(error),
        };
        Ok(Some(Self { disk: disk.clone(), path: path.to_owned(), file }))
    }

    /// Whether it is still ours: another one may have thought us dead.
    pub(crate) fn is_ours(&self) -> bool {
        names_file(&self.path, &self.file)
    }

    /// Writes it anew, so that it does not look old.
    pub(crate) fn renew(&mut self, text: &str) -> io::Result<()> {
        let (draft, file) = draft(&*self.disk, &self.path, text)?;
        self.disk.rename(&draft, &self.path)?;
        self.file = file;
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if self.is_ours() {
            // While it stays nobody can write for a while, so one failure is not enough.
            let _ = self.disk.remove(&self.path).or_else(|_| self.disk.remove(&self.path));
        }
    }
}

/// A lock that is not in its place yet.
fn draft(disk: &dyn Disk, lock: &Path, text: &str) -> io::Result<(PathBuf, File)> {
    let path = beside(lock, &format!(".{}.{}.tmp", std::process::id(), Uuid::new_v4()));
    let file = written(disk, &path, disk.create_new(&path)?, text)?;
    Ok((path, file))
}

/// The new file with its text; if that cannot be written, there is no file.
fn written(disk: &dyn Disk, path: &Path, file: File, text: &str) -> io::Result<File> {
    write_all(disk, &file, text.as_bytes()).inspect_err(|_| {
        let _ = disk.remove(path);
    })?;
    Ok(file)
}

/// A lock that is there.
pub(crate) struct Seen {
    path: PathBuf,
    metadata: Metadata,
    /// While it is open no other file gets its number.
    file: Option<File>,
    /// What it says, if it can be read.
    pub(crate) text: Option<String>,
}

impl Seen {
    /// The lock at this path; `None` if there is none. A link is not followed.
    pub(crate) fn at(path: &Path) -> io::Result<Option<Self>> {
        /// As much as the text of a lock can be.
        const MOST: u64 = 1000;
        let metadata = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            metadata => metadata?,
        };
        let file = open_plain(path).ok();
        // What was opened is what was looked at, or it is another one by now.
        let metadata = file.as_ref().and_then(|file| file.metadata().ok()).unwrap_or(metadata);
        let mut text = String::new();
        let read = file.as_ref().is_some_and(|file| file.take(MOST).read_to_string(&mut text).is_ok());
        Ok(Some(Self { path: path.to_owned(), metadata, file, text: read.then_some(text) }))
    }

    /// When it was written, in epoch milliseconds.
    pub(crate) fn written(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of this age of the world")]
        return self.metadata.mtime() as f64 * 1000.0 + self.metadata.mtime_nsec() as f64 / 1e6;
    }

    /// Removes the lock, which was found abandoned; tells whether it is gone.
    pub(crate) fn evict(&self, disk: &dyn Disk) -> io::Result<bool> {
        let is_being_removed = self.file.as_ref().is_some_and(|file| file.try_lock().is_err());
        if is_being_removed || !self.is_at(&self.path) {
            return Ok(false);
        }
        let aside = beside(&self.path, &format!(".{}.{}.tmp", std::process::id(), Uuid::new_v4()));
        disk.rename(&self.path, &aside)?;
        let is_the_one = self.is_at(&aside);
        if !is_the_one {
            // That was a fresh one: give it back, unless there is another already.
            let _ = disk.link(&aside, &self.path);
        }
        let _ = disk.remove(&aside);
        Ok(is_the_one)
    }

    fn is_at(&self, path: &Path) -> bool {
        let identity = |file: &Metadata| (file.dev(), file.ino(), file.mtime(), file.mtime_nsec());
        path.symlink_metadata().is_ok_and(|found| identity(&found) == identity(&self.metadata))
    }
}
