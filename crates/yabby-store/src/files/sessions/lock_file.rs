//! The lock file that OpenClaw and yabby take before they write a store (`sessions.md` §6).

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::session::store_lock::{Held, Holder, LockTimeout, WhenLocked, lock_text, when_locked};

use crate::clock::millis;
use crate::disk::{Disk, Doing, beside, names_file, parent, shown, write_all};
use crate::files::folder::open_plain;
use crate::process;

/// The lock, held until this is dropped.
pub(super) struct StoreLock {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: File,
}

impl StoreLock {
    /// Waits for the lock, at most as long as OpenClaw would.
    pub(super) fn acquire(disk: Arc<dyn Disk>, clock: &dyn Clock, store: &Path) -> Result<Self, StoreError> {
        let path = beside(store, ".lock");
        let started = millis(clock);
        loop {
            match create(&*disk, &path, &lock_text(std::process::id(), millis(clock))) {
                Ok(file) => return Ok(Self { disk, path, file }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let folder = parent(store);
                    disk.create_folder(folder).doing("create", folder)?;
                    continue;
                }
                Err(error) => return Err(error).doing("create", &path),
            }
            let Some((held, identity)) = examine(&path) else { continue };
            match when_locked(millis(clock), started, held, process::look_up) {
                WhenLocked::Remove => evict(&*disk, &path, identity),
                WhenLocked::Wait(ms) => std::thread::sleep(Duration::from_secs_f64(ms / 1000.0)),
                WhenLocked::GiveUp => return Err(LockTimeout { path: shown(&path) }.into()),
            }
        }
    }
}

impl Drop for StoreLock {
    fn drop(&mut self) {
        // Another one may have thought us dead; its lock is not ours to remove.
        if names_file(&self.path, &self.file) {
            // While it stays nobody can write for half a minute, so one failure is not enough.
            let _ = self.disk.remove(&self.path).or_else(|_| self.disk.remove(&self.path));
        }
    }
}

/// Creates a lock that says at once whose it is: an empty one, left by a process that was killed, would
/// stop everybody for half a minute.
fn create(disk: &dyn Disk, path: &Path, text: &str) -> io::Result<File> {
    let draft = beside(path, &format!(".{}.{}.tmp", std::process::id(), Uuid::new_v4()));
    let file = disk.create_new(&draft)?;
    let taken = match write_all(disk, &file, text.as_bytes()).and_then(|()| disk.link(&draft, path)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // Not every file system knows links, and an empty lock is a lock as well.
            disk.create_new(path).inspect(|lock| drop(write_all(disk, lock, text.as_bytes())))
        }
        linked => linked.map(|()| file),
    };
    let _ = disk.remove(&draft);
    taken
}

/// Which lock it is. The number of its file alone does not tell: the next one may get the same.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity {
    inode: u64,
    modified: (i64, i64),
}

impl Identity {
    fn of(lock: &Metadata) -> Self {
        Self { inode: lock.ino(), modified: (lock.mtime(), lock.mtime_nsec()) }
    }
}

/// A lock that is there; `None` if it is gone.
fn examine(path: &Path) -> Option<(Held, Identity)> {
    let metadata = path.symlink_metadata().ok()?;
    let holder = read_start(path).ok().and_then(|text| Holder::read(&text));
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of this age of the world")]
    let written = metadata.mtime() as f64 * 1000.0 + metadata.mtime_nsec() as f64 / 1e6;
    Some((Held { written: Some(written), holder }, Identity::of(&metadata)))
}

/// As much as the text of a lock can be.
fn read_start(path: &Path) -> io::Result<String> {
    const MOST: u64 = 1000;
    let mut text = String::new();
    open_plain(path)?.take(MOST).read_to_string(&mut text)?;
    Ok(text)
}

/// Removes a lock that was found abandoned, but not the one that somebody else may have put in its
/// place since.
fn evict(disk: &dyn Disk, path: &Path, identity: Identity) {
    let aside = beside(path, &format!(".{}.stale", Uuid::new_v4()));
    if disk.rename(path, &aside).is_err() {
        return;
    }
    if aside.symlink_metadata().is_ok_and(|metadata| Identity::of(&metadata) != identity) {
        // That was a fresh one: give it back, unless there is another already.
        let _ = disk.link(&aside, path);
    }
    let _ = disk.remove(&aside);
}
