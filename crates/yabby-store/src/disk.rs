//! Everything that is done to a disk, so that tests can make any of it fail.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use yabby_domain::seam::StoreError;

/// What is done to files. Reading is not part of it: a read that fails loses nothing.
pub trait Disk: Send + Sync {
    /// Creates a file that only its owner can read; one that exists already is an error.
    fn create_new(&self, path: &Path) -> io::Result<File>;

    /// Opens a file to append to it, and creates it for its owner if it is missing. A link is an error.
    fn open_append(&self, path: &Path) -> io::Result<File>;

    /// Writes some of the bytes, and tells how many.
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts a file off.
    fn truncate(&self, file: &File, length: u64) -> io::Result<()>;

    /// Comes back when what was written to the file survives a power failure.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// Comes back when the names in a folder survive a power failure.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames a file to a name that nobody has; one that is taken is an error.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name; one that is taken is an error.
    fn link(&self, file: &Path, name: &Path) -> io::Result<()>;

    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Creates a folder for its owner, and those above it that are missing, and comes back when their names survive a
    /// power failure.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;

    /// Says who may read and write a file or a folder. A link is followed.
    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()>;
}

/// The real one.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalDisk;

const OWNER_ONLY: u32 = 0o600;
const OWNER_FOLDER: u32 = 0o700;

/// `O_NOFOLLOW`: a link in the place of a file is never written through.
pub(crate) fn no_follow() -> i32 {
    i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default()
}

/// `O_NONBLOCK`: a pipe in the place of a file is not waited for.
pub(crate) fn no_wait() -> i32 {
    i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default()
}

impl Disk for LocalDisk {
    fn create_new(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).append(true).create_new(true).mode(OWNER_ONLY).open(path)
    }

    fn open_append(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(OWNER_ONLY).custom_flags(no_follow());
        options.open(path)
    }

    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    fn truncate(&self, file: &File, length: u64) -> io::Result<()> {
        file.set_len(length)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Some file systems cannot do it in one step.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                if to.symlink_metadata().is_ok() {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                std::fs::rename(from, to)
            }
            done => Ok(done?),
        }
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        std::fs::hard_link(file, name)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        let parent = parent(folder);
        if parent != folder {
            self.create_folder(parent)?;
        }
        match DirBuilder::new().mode(OWNER_FOLDER).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !folder.is_dir() => Err(error),
            // Also if somebody else just did: what is written below must not get lost with its name.
            _ => self.sync_folder(parent),
        }
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        std::fs::set_permissions(path, Permissions::from_mode(mode))
    }
}

/// The folder that a path is in.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes all of the bytes, however many at a time the disk takes.
pub(crate) fn write_all(disk: &dyn Disk, file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match disk.write(file, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Says what was being done to which file when it failed.
pub(crate) trait Doing<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, StoreError>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::Io { doing, path: shown(path), source: source.into() })
    }
}

pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The path with something after its name, such as `.lock`.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Whether the path still names this file.
pub(crate) fn names_file(path: &Path, file: &File) -> bool {
    let (Ok(open), Ok(named)) = (file.metadata(), path.symlink_metadata()) else { return false };
    (open.dev(), open.ino()) == (named.dev(), named.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_created_with_those_above_them() {
        let home = tempfile::TempDir::new().unwrap();
        let folder = home.path().join("a/b/c");
        LocalDisk.create_folder(&folder).unwrap();
        LocalDisk.create_folder(&folder).unwrap();
        assert!(folder.is_dir());
        let mode = folder.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "what is said in it is nobody else's business");
        std::fs::write(home.path().join("file"), "").unwrap();
        LocalDisk.create_folder(&home.path().join("file")).unwrap_err();
        LocalDisk.create_folder(&home.path().join("file/below")).unwrap_err();
    }
}
