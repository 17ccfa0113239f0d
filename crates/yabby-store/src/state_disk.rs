//! A disk that keeps to one folder: the state folder that a program was started on.
//!
//! If that folder is moved away while the program runs, its path names nothing, or another folder. A program that went
//! on by path would begin an empty home there, and take messages into it that nobody looks for.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::disk::{Disk, LocalDisk};

/// A folder as it was when it was first looked at, known by its device and inode.
#[derive(Clone, Debug)]
pub struct KnownFolder(Arc<Known>);

#[derive(Debug)]
struct Known {
    path: PathBuf,
    identity: OnceLock<(u64, u64)>,
}

/// The path of a folder does not name it any more.
#[derive(Debug, thiserror::Error)]
#[error(
    "the state folder {} was moved away or replaced while yabby runs: put it back, or stop yabby and start it where the folder is now",
    .0.display()
)]
pub struct FolderMoved(PathBuf);

impl KnownFolder {
    /// The folder of this path; if there is none yet, the one that will be made.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let folder = Self(Arc::new(Known { path: path.into(), identity: OnceLock::new() }));
        // Nothing is known of it yet, so that it cannot be another one.
        let _ = folder.check();
        folder
    }

    /// Whether the path still names the folder.
    pub fn check(&self) -> Result<(), FolderMoved> {
        let found = self.0.path.metadata().ok().map(|about| (about.dev(), about.ino()));
        match (self.0.identity.get(), found) {
            (Some(known), Some(found)) if *known == found => Ok(()),
            (Some(_), _) => Err(FolderMoved(self.0.path.clone())),
            (None, found) => {
                let _ = found.map(|found| self.0.identity.set(found));
                Ok(())
            }
        }
    }
}

/// Does everything that [`LocalDisk`] does, as long as the state folder is the one that it was.
#[derive(Clone, Debug)]
pub struct StateDisk(pub KnownFolder);

impl StateDisk {
    fn checked(&self) -> io::Result<LocalDisk> {
        self.0.check().map(|()| LocalDisk).map_err(io::Error::other)
    }
}

impl Disk for StateDisk {
    fn create_new(&self, path: &Path) -> io::Result<File> {
        self.checked()?.create_new(path)
    }

    fn open_append(&self, path: &Path) -> io::Result<File> {
        self.checked()?.open_append(path)
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        self.checked()?.write(file, bytes)
    }

    fn truncate(&self, file: &File, length: u64) -> io::Result<()> {
        self.checked()?.truncate(file, length)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.checked()?.sync(file)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.checked()?.sync_folder(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.checked()?.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.checked()?.rename_new(from, to)
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        self.checked()?.link(file, name)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.checked()?.remove(path)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.checked()?.create_folder(folder)
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.checked()?.set_mode(path, mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_where_another_folder_has_the_name() {
        let home = tempfile::TempDir::new().unwrap();
        let [state, elsewhere] = ["state", "elsewhere"].map(|name| home.path().join(name));
        // A folder that is made later is the one that is meant.
        let disk = StateDisk(KnownFolder::at(&state));
        disk.create_folder(&state.join("turns")).unwrap();
        let journal = disk.create_new(&state.join("turns/one")).unwrap();
        disk.write(&journal, b"kept").unwrap();

        std::fs::rename(&state, &elsewhere).unwrap();
        let refusal = disk.write(&journal, b"lost").unwrap_err().to_string();
        assert!(refusal.contains("moved away or replaced") && refusal.contains("state"), "{refusal}");
        disk.create_folder(&state.join("turns")).unwrap_err();
        assert!(!state.exists());
        std::fs::create_dir(&state).unwrap();
        disk.create_new(&state.join("two")).unwrap_err();

        std::fs::remove_dir(&state).unwrap();
        std::fs::rename(&elsewhere, &state).unwrap();
        disk.write(&journal, b" on").unwrap();
        assert_eq!(std::fs::read(state.join("turns/one")).unwrap(), b"kept on");
    }
}
