//! The folder that the agent works in; nothing leads out of it.
//!
//! A path is resolved, held against the folder, and then walked name by name from the folder down,
//! following no link: whoever swaps a name for a link meanwhile gets an error, not another file.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

pub(crate) struct Workspace {
    given: PathBuf,
    real: PathBuf,
    folder: Folder,
}

/// An open folder.
pub(crate) struct Folder(OwnedFd);

pub(crate) struct Entry {
    pub(crate) name: OsString,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

/// Nobody looks through a longer list, and it would fill the memory.
const MOST_ENTRIES: usize = 100_000;

/// As long as the system takes them.
const LONGEST_PATH: usize = 4096;

impl Workspace {
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let refused = |error: io::Error| format!("the workspace {} cannot be used: {error}", path.display());
        let real = path.canonicalize().map_err(refused)?;
        let folder = rustix::fs::open(&real, FOLDER, Mode::empty()).map_err(|error| refused(error.into()))?;
        Ok(Self { given: path.to_owned(), real, folder: Folder(folder) })
    }

    pub(crate) fn real(&self) -> &Path {
        &self.real
    }

    /// The names that a path consists of, from the workspace on.
    pub(crate) fn names(&self, path: &str) -> Result<PathBuf, String> {
        if path.len() > LONGEST_PATH {
            return Err(format!("a path is no longer than {LONGEST_PATH} bytes"));
        }
        let outside = || format!("{path} is outside of the workspace; only files in it can be used");
        let given = Path::new(path);
        let below = match given.is_absolute() {
            true => given
                .strip_prefix(&self.given)
                .or_else(|_| given.strip_prefix(&self.real))
                .map_err(|_| outside())?,
            false => given,
        };
        if path.starts_with('~') || path.contains('\0') {
            return Err(outside());
        }
        let mut names = PathBuf::new();
        for component in below.components() {
            match component {
                Component::Normal(name) => names.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(outside()),
            }
        }
        Ok(names)
    }

    /// Where a path really is, from the workspace on. Links may lead to other places of the workspace.
    pub(crate) fn resolve(&self, path: &str) -> Result<PathBuf, String> {
        let names = self.names(path)?;
        let real = self.real.join(names).canonicalize().map_err(|error| told(path, &error))?;
        let below = real.strip_prefix(&self.real);
        below
            .map(Path::to_owned)
            .map_err(|_| format!("{path} leads out of the workspace; only files in it can be used"))
    }

    /// Opens a file below the workspace to read it. No name may be a link.
    pub(crate) fn file_at(&self, names: &Path) -> io::Result<File> {
        let name = names.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        match names.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) => self.folder_at(parent)?.file(name),
            None => self.folder.file(name),
        }
    }

    /// Opens a folder below the workspace, or the workspace itself. No name may be a link.
    pub(crate) fn folder_at(&self, names: &Path) -> io::Result<Folder> {
        let mut folder = Folder(self.folder.0.try_clone()?);
        for name in names {
            folder = folder.folder(name)?;
        }
        Ok(folder)
    }
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
// A pipe in the place of a file is not waited for.
const PLAIN: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

impl Folder {
    pub(crate) fn folder(&self, name: &OsStr) -> io::Result<Folder> {
        Ok(Folder(rustix::fs::openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?))
    }

    /// Creates a folder that only its owner can look into; tells whether it was missing.
    pub(crate) fn create_folder(&self, name: &OsStr) -> io::Result<bool> {
        match rustix::fs::mkdirat(&self.0, name, Mode::RWXU) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a plain file to read it.
    pub(crate) fn file(&self, name: &OsStr) -> io::Result<File> {
        self.open(name, OFlags::RDONLY)
    }

    /// Opens a plain file in this way. One that is created is its owner's alone.
    pub(crate) fn open(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        let file = File::from(rustix::fs::openat(&self.0, name, flags | PLAIN, Mode::RUSR | Mode::WUSR)?);
        match file.metadata()?.file_type() {
            kind if kind.is_file() => Ok(file),
            kind if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            _ => Err(io::Error::other("it is not a plain file")),
        }
    }

    /// Whether the name is still that of an open file.
    pub(crate) fn names(&self, name: &OsStr, file: &File) -> io::Result<bool> {
        let held = rustix::fs::fstat(file)?;
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) => Ok((named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Comes back when the names in it survive a power failure.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.0)?)
    }

    /// What is in it, by name.
    pub(crate) fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for found in Dir::read_from(&self.0)?.take(MOST_ENTRIES) {
            let found = found?;
            let name = os_name(found.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match found.file_type() {
                // Some file systems do not tell.
                FileType::Unknown => self.kind(&name),
                known => known.into(),
            };
            entries.push(Entry { name, kind });
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    fn kind(&self, name: &OsStr) -> Kind {
        let status = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW);
        status.map_or(Kind::Other, |status| FileType::from_raw_mode(status.st_mode).into())
    }
}

fn os_name(bytes: &[u8]) -> OsString {
    OsStr::from_bytes(bytes).to_owned()
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

/// What went wrong with a file, for the model.
pub(crate) fn told(path: &str, error: &io::Error) -> String {
    const LOOP: i32 = rustix::io::Errno::LOOP.raw_os_error();
    match error.kind() {
        io::ErrorKind::NotFound => format!("{path} does not exist"),
        io::ErrorKind::IsADirectory => format!("{path} is a folder"),
        io::ErrorKind::NotADirectory => format!("{path} is not in a folder"),
        _ if error.raw_os_error() == Some(LOOP) => format!("{path} is a link, and is not followed"),
        _ => format!("{path} cannot be used: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_workspace() {
        let folder = std::env::temp_dir();
        let workspace = Workspace::open(&folder).unwrap();
        let long = "x".repeat(LONGEST_PATH + 1);
        let inside = folder.join("a/b").to_string_lossy().into_owned();
        //  path  names
        let table = [
            ("a/b.md", Some("a/b.md")),
            ("./a//b", Some("a/b")),
            (".", Some("")),
            (inside.as_str(), Some("a/b")),
            ("a/../b", None),
            ("..", None),
            ("/etc/passwd", None),
            ("~/x", None),
            ("a\0b", None),
            (long.as_str(), None),
        ];
        for (path, names) in table {
            assert_eq!(workspace.names(path).ok().as_deref(), names.map(Path::new), "{path}");
        }
    }
}
