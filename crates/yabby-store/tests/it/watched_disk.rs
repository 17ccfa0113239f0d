//! A disk on which every step is told to somebody first, who may do something in between or let it fail.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use yabby_store::disk::{Disk, LocalDisk};

/// What is about to be done; a file that is open already has no name here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<'p> {
    CreateNew(&'p Path),
    OpenAppend(&'p Path),
    /// How many bytes are to be written.
    Write(usize),
    Truncate,
    Sync,
    SyncFolder(&'p Path),
    Rename(&'p Path, &'p Path),
    Link(&'p Path, &'p Path),
    Remove(&'p Path),
    CreateFolder(&'p Path),
}

type Watcher = dyn Fn(Step<'_>) -> io::Result<()> + Send + Sync;

pub(crate) struct WatchedDisk(Box<Watcher>);

impl WatchedDisk {
    pub(crate) fn new(watcher: impl Fn(Step<'_>) -> io::Result<()> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self(Box::new(watcher)))
    }
}

impl Disk for WatchedDisk {
    fn create_new(&self, path: &Path) -> io::Result<File> {
        self.0(Step::CreateNew(path)).and_then(|()| LocalDisk.create_new(path))
    }

    fn open_append(&self, path: &Path) -> io::Result<File> {
        self.0(Step::OpenAppend(path)).and_then(|()| LocalDisk.open_append(path))
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        self.0(Step::Write(bytes.len())).and_then(|()| LocalDisk.write(file, bytes))
    }

    fn truncate(&self, file: &File, length: u64) -> io::Result<()> {
        self.0(Step::Truncate).and_then(|()| LocalDisk.truncate(file, length))
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.0(Step::Sync).and_then(|()| LocalDisk.sync(file))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.0(Step::SyncFolder(folder)).and_then(|()| LocalDisk.sync_folder(folder))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0(Step::Rename(from, to)).and_then(|()| LocalDisk.rename(from, to))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0(Step::Rename(from, to)).and_then(|()| LocalDisk.rename_new(from, to))
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        self.0(Step::Link(file, name)).and_then(|()| LocalDisk.link(file, name))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0(Step::Remove(path)).and_then(|()| LocalDisk.remove(path))
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.0(Step::CreateFolder(folder)).and_then(|()| LocalDisk.create_folder(folder))
    }
    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        LocalDisk.set_mode(path, mode)
    }
}
