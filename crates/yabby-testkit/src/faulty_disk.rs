//! A disk that fails on purpose, to see what is left behind.
//!
//! Tell a story with [`FaultyDisk::sound`] to learn how many operations it takes, then tell it again with
//! a fault at each of them:
//!
//! ```
//! # use yabby_testkit::faulty_disk::{Fault, FaultyDisk, Kind};
//! # fn story(_: &FaultyDisk) {}
//! let sound = FaultyDisk::sound();
//! story(&sound);
//! for at in 0..sound.operations() {
//!     story(&FaultyDisk::new(Fault::At { operation: at, kind: Kind::NoSpace }));
//!     story(&FaultyDisk::new(Fault::DeadFrom(at)));
//! }
//! ```

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use yabby_store::disk::{Disk, LocalDisk};

/// What goes wrong; operations are counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Never,
    /// One operation fails; what comes before and after works.
    At {
        operation: usize,
        kind: Kind,
    },
    /// Nothing works any more from this operation on, as if the machine had stopped there. Bytes that
    /// were being written may have reached the disk in part.
    DeadFrom(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `ENOSPC`; a write leaves half of its bytes.
    NoSpace,
    /// `EIO`; a write leaves nothing, and nobody knows what a sync did.
    Io,
    /// `EROFS`
    ReadOnly,
    /// A write takes half of its bytes and says so, which is no error. Nothing else is affected.
    ShortWrite,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::NoSpace, Self::Io, Self::ReadOnly, Self::ShortWrite];

    fn error(self) -> Option<io::Error> {
        const EIO: i32 = 5;
        const ENOSPC: i32 = 28;
        const EROFS: i32 = 30;
        let code = match self {
            Self::NoSpace => ENOSPC,
            Self::Io => EIO,
            Self::ReadOnly => EROFS,
            Self::ShortWrite => return None,
        };
        Some(io::Error::from_raw_os_error(code))
    }
}

/// The local disk, with a fault.
#[derive(Debug)]
pub struct FaultyDisk {
    fault: Fault,
    operations: AtomicUsize,
}

impl FaultyDisk {
    pub fn new(fault: Fault) -> Self {
        Self { fault, operations: AtomicUsize::new(0) }
    }

    /// A disk that only counts.
    pub fn sound() -> Self {
        Self::new(Fault::Never)
    }

    /// How many operations were asked for.
    pub fn operations(&self) -> usize {
        self.operations.load(Ordering::SeqCst)
    }

    /// Whether the fault has happened.
    pub fn has_failed(&self) -> bool {
        match self.fault {
            Fault::Never => false,
            Fault::At { operation: at, .. } | Fault::DeadFrom(at) => self.operations() > at,
        }
    }

    /// Counts an operation, and tells what is wrong with it.
    fn next(&self) -> Option<Wrong> {
        let operation = self.operations.fetch_add(1, Ordering::SeqCst);
        match self.fault {
            Fault::At { operation: at, kind } if operation == at => Some(Wrong::Kind(kind)),
            Fault::DeadFrom(at) if operation == at => Some(Wrong::Dying),
            Fault::DeadFrom(at) if operation > at => Some(Wrong::Dead),
            Fault::Never | Fault::At { .. } | Fault::DeadFrom(_) => None,
        }
    }

    fn unless_faulty<T>(&self, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.next().and_then(Wrong::error) {
            Some(error) => Err(error),
            None => act(),
        }
    }
}

#[derive(Clone, Copy)]
enum Wrong {
    Kind(Kind),
    Dying,
    Dead,
}

impl Wrong {
    fn error(self) -> Option<io::Error> {
        match self {
            Self::Kind(kind) => kind.error(),
            Self::Dying | Self::Dead => Kind::Io.error(),
        }
    }
}

impl Disk for FaultyDisk {
    fn create_new(&self, path: &Path) -> io::Result<File> {
        self.unless_faulty(|| LocalDisk.create_new(path))
    }

    fn open_append(&self, path: &Path) -> io::Result<File> {
        self.unless_faulty(|| LocalDisk.open_append(path))
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        let half = bytes.get(..bytes.len().div_ceil(2)).unwrap_or_default();
        match self.next() {
            None => LocalDisk.write(file, bytes),
            Some(Wrong::Kind(Kind::ShortWrite)) => LocalDisk.write(file, half),
            Some(wrong) => {
                if matches!(wrong, Wrong::Dying | Wrong::Kind(Kind::NoSpace)) {
                    LocalDisk.write(file, half)?;
                }
                wrong.error().map_or(Ok(0), Err)
            }
        }
    }

    fn truncate(&self, file: &File, length: u64) -> io::Result<()> {
        self.unless_faulty(|| LocalDisk.truncate(file, length))
    }

    // Nobody pulls the plug in a test, and a real sync would take most of its time.
    fn sync(&self, _: &File) -> io::Result<()> {
        self.unless_faulty(|| Ok(()))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.unless_faulty(|| folder.metadata().map(drop))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.unless_faulty(|| LocalDisk.rename(from, to))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.unless_faulty(|| LocalDisk.rename_new(from, to))
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        self.unless_faulty(|| LocalDisk.link(file, name))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.unless_faulty(|| LocalDisk.remove(path))
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.unless_faulty(|| LocalDisk.create_folder(folder))
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.unless_faulty(|| LocalDisk.set_mode(path, mode))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_two(disk: &FaultyDisk, folder: &Path) -> io::Result<usize> {
        let file = disk.create_new(&folder.join("file"))?;
        let written = disk.write(&file, b"four")?;
        disk.sync(&file)?;
        Ok(written)
    }

    #[test]
    fn one_operation_fails_or_all_from_one_on() {
        let at = |operation, kind| Fault::At { operation, kind };
        //  fault                       outcome         left in the file
        let table = [
            (Fault::Never, Some(4), Some("four")),
            (at(0, Kind::Io), None, None),
            (at(1, Kind::NoSpace), None, Some("fo")),
            (at(1, Kind::ShortWrite), Some(2), Some("fo")),
            (at(1, Kind::ReadOnly), None, Some("")),
            (at(2, Kind::ShortWrite), Some(4), Some("four")),
            (at(2, Kind::Io), None, Some("four")),
            (Fault::DeadFrom(1), None, Some("fo")),
            (at(9, Kind::Io), Some(4), Some("four")),
        ];
        for (at, (fault, outcome, left)) in table.into_iter().enumerate() {
            let folder = std::env::temp_dir().join(format!("yabby-faulty-{}-{at}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            let disk = FaultyDisk::new(fault);
            assert_eq!(write_two(&disk, &folder).ok(), outcome, "{fault:?}");
            assert_eq!(std::fs::read_to_string(folder.join("file")).ok().as_deref(), left, "{fault:?}");
            assert_eq!(disk.has_failed(), !matches!(fault, Fault::Never | Fault::At { operation: 9, .. }));
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}
