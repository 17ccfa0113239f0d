//! A file that is being written by us and by nobody else, if others keep to it, too.
//!
//! What was written is synced before it is acknowledged. Two who write the same file wait for each
//! other: its lock is taken, and held against the name once more, since a file that was replaced
//! meanwhile is nobody's any more.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;

use crate::workspace::Folder;

/// A file that nobody else writes.
pub(crate) struct LockedFile<'f> {
    folder: &'f Folder,
    name: &'f OsStr,
    file: File,
    is_new: bool,
}

impl<'f> LockedFile<'f> {
    /// Opens a file, and creates it if it is missing.
    pub(crate) fn open(folder: &'f Folder, name: &'f OsStr) -> io::Result<Self> {
        Self::opened(folder, name, true)
    }

    /// Opens a file that is there.
    pub(crate) fn open_existing(folder: &'f Folder, name: &'f OsStr) -> io::Result<Self> {
        Self::opened(folder, name, false)
    }

    fn opened(folder: &'f Folder, name: &'f OsStr, create: bool) -> io::Result<Self> {
        let append = OFlags::RDWR | OFlags::APPEND;
        // Whoever replaces a file does so in a moment; one that is always another has been tried enough.
        for _ in 0..100 {
            let (file, is_new) = match folder.open(name, append) {
                Ok(file) => (file, false),
                Err(error) if create && error.kind() == io::ErrorKind::NotFound => {
                    match folder.open(name, append | OFlags::CREATE | OFlags::EXCL) {
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                        created => (created?, true),
                    }
                }
                Err(error) => return Err(error),
            };
            lock(&file)?;
            if folder.names(name, &file)? {
                return Ok(Self { folder, name, file, is_new });
            }
        }
        Err(io::Error::other("it is being replaced all the time"))
    }

    /// Whether it was not there before.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }

    /// The file as it is; `None` if it is longer.
    pub(crate) fn bytes(&self, most: u64) -> io::Result<Option<Vec<u8>>> {
        let length = self.file.metadata()?.len();
        let mut bytes = vec![0; usize::try_from(length.min(most)).unwrap_or(usize::MAX)];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok((length <= most).then_some(bytes))
    }

    /// Adds lines at the end. Of an error nothing remains.
    pub(crate) fn append(mut self, content: &str) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        let mut last = [b'\n'];
        if length > 0 {
            self.file.read_exact_at(&mut last, length - 1)?;
        }
        let [before, after] =
            [last == [b'\n'], content.ends_with('\n')].map(|ended| if ended { "" } else { "\n" });
        if self.file.metadata()?.nlink() > 1 {
            // Under its other name it may be a file of somebody else's: ours becomes one of its own.
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
            self.file.read_exact_at(&mut bytes, 0)?;
            bytes.extend_from_slice(format!("{before}{content}{after}").as_bytes());
            return self.replace(&bytes);
        }
        let written = self
            .file
            .write_all(format!("{before}{content}{after}").as_bytes())
            .and_then(|()| self.file.sync_all())
            .and_then(|()| if self.is_new { self.folder.sync() } else { Ok(()) });
        if written.is_err() {
            // The first error is the one to tell.
            let _ = self.file.set_len(length).and_then(|()| self.file.sync_all());
        }
        written
    }

    /// Puts a text in the place of the file: whoever reads it sees the old one or the new one.
    pub(crate) fn replace(self, content: &[u8]) -> io::Result<()> {
        let draft_name = format!(".{}.{}.tmp", self.name.to_string_lossy(), uuid::Uuid::new_v4());
        let draft_name = OsStr::new(&draft_name);
        let placed = self.draft(draft_name, content).and_then(|()| self.folder.rename(draft_name, self.name));
        if placed.is_err() {
            let _ = self.folder.remove(draft_name);
        }
        placed.and_then(|()| self.folder.sync())
    }

    fn draft(&self, name: &OsStr, content: &[u8]) -> io::Result<()> {
        let mut draft = self.folder.open(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        draft.set_permissions(self.file.metadata()?.permissions())?;
        draft.write_all(content)?;
        draft.sync_all()
    }
}

/// Waits for the lock of a file, for a while. It is let go of with the file.
fn lock(file: &File) -> io::Result<()> {
    const PAUSE: Duration = Duration::from_millis(20);
    const ATTEMPTS: u32 = 250;
    for _ in 0..ATTEMPTS {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            // A file system without locks is one without neighbours.
            Ok(()) | Err(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => return Ok(()),
            Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "another program has held its lock for 5 seconds"))
}
