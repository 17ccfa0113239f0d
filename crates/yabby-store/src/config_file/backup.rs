//! Putting a new text in the place of the file, with five generations of backups (`config.md` §6).

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use yabby_domain::seam::StoreError;

use crate::disk::{Disk, Doing, beside, parent};
use crate::files::atomic::Draft;
use crate::files::folder::read_plain;

/// The file on disk, which nobody else of us changes meanwhile.
pub(super) struct Held<'d> {
    disk: &'d dyn Disk,
    /// As it was named; backups go beside it.
    named: PathBuf,
    /// Where a link leads.
    real: PathBuf,
    /// Open as long as the file is held.
    _folder: File,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Replaced,
    /// Somebody changed the file since it was read; it is as they left it.
    Overtaken,
}

const PATIENCE: Duration = Duration::from_secs(10);

impl<'d> Held<'d> {
    /// Waits for others of us to be done with the file. OpenClaw and editors do not wait; they are
    /// noticed before the file is replaced.
    pub(super) fn take(disk: &'d dyn Disk, named: &Path) -> Result<Self, StoreError> {
        let real = match named.is_symlink() {
            true => named.canonicalize().doing("resolve", named)?,
            false => named.to_owned(),
        };
        let folder = parent(&real);
        if !folder.is_dir() {
            disk.create_folder(folder).doing("create", folder)?;
            fs::set_permissions(folder, Permissions::from_mode(0o700)).doing("protect", folder)?;
        }
        let opened = File::open(folder).doing("open", folder)?;
        let since = Instant::now();
        loop {
            match opened.try_lock() {
                Err(TryLockError::WouldBlock) if since.elapsed() < PATIENCE => {
                    sleep(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::other("another yabby is changing it")).doing("lock", named);
                }
                // Where folders cannot be locked the comparison below has to do.
                Ok(()) | Err(TryLockError::Error(_)) => break,
            }
        }
        Ok(Self { disk, named: named.to_owned(), real, _folder: opened })
    }

    /// Replaces the file, which holds `old`, or is missing.
    pub(super) fn replace(&self, old: Option<&[u8]>, new: &str) -> Result<Outcome, StoreError> {
        let draft = Draft::write(self.disk, &self.real, new.as_bytes())?;
        if self.current()?.as_deref() != old {
            return Ok(Outcome::Overtaken);
        }
        if let Some(old) = old {
            self.back_up(old)?;
            // That took a moment.
            if self.current()?.as_deref() != Some(old) {
                return Ok(Outcome::Overtaken);
            }
            draft.place()?;
            return Ok(Outcome::Replaced);
        }
        Ok(if draft.claim()? { Outcome::Replaced } else { Outcome::Overtaken })
    }

    /// What the file holds; `None` if there is none.
    pub(super) fn current(&self) -> Result<Option<Vec<u8>>, StoreError> {
        match read_plain(&self.real) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            bytes => bytes.map(Some).doing("read", &self.real),
        }
    }

    fn back_up(&self, old: &[u8]) -> Result<(), StoreError> {
        let generation = |number: u32| match number {
            0 => beside(&self.named, ".bak"),
            number => beside(&self.named, &format!(".bak.{number}")),
        };
        let unless_missing = |done: io::Result<()>| match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        };
        // Whole and safe before anything makes room for it: without space the older ones stay.
        let newest = generation(0);
        let draft = Draft::write(self.disk, &newest, old)?;
        let mode = fs::metadata(&self.real).doing("inspect", &self.real)?.permissions();
        fs::set_permissions(draft.path(), mode).doing("protect", draft.path())?;
        let oldest = generation(OLDEST);
        unless_missing(self.disk.remove(&oldest)).doing("remove", &oldest)?;
        for number in (0..OLDEST).rev() {
            let (from, to) = (generation(number), generation(number + 1));
            unless_missing(self.disk.rename(&from, &to)).doing("rename", &from)?;
        }
        draft.place()
    }
}

/// The last of the backups: `.bak.4`.
const OLDEST: u32 = 4;
