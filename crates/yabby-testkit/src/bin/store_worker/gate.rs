//! A disk that can be stopped in the middle of putting a new store in its place: whoever is stopped
//! there holds the store's lock.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use yabby_store::disk::{Disk, LocalDisk};

#[derive(Default)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_shut: bool,
    someone_waits: bool,
}

impl Gate {
    pub fn shut(&self) {
        self.state().is_shut = true;
    }

    /// Comes back when somebody stands before the shut gate.
    pub fn wait_for_somebody(&self) {
        let waits = self.changed.wait_while(self.state(), |state| !state.someone_waits);
        drop(waits.unwrap_or_else(PoisonError::into_inner));
    }

    pub fn open(&self) {
        self.state().is_shut = false;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let mut state = self.state();
        state.someone_waits = state.is_shut;
        self.changed.notify_all();
        let passed = self.changed.wait_while(state, |state| state.is_shut);
        passed.unwrap_or_else(PoisonError::into_inner).someone_waits = false;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for Gate {
    fn create_new(&self, path: &Path) -> io::Result<File> {
        LocalDisk.create_new(path)
    }

    fn open_append(&self, path: &Path) -> io::Result<File> {
        LocalDisk.open_append(path)
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        LocalDisk.write(file, bytes)
    }

    fn truncate(&self, file: &File, length: u64) -> io::Result<()> {
        LocalDisk.truncate(file, length)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        LocalDisk.sync(file)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        LocalDisk.sync_folder(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        if to.extension().is_some_and(|ending| ending == "json") {
            self.pass();
        }
        LocalDisk.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        LocalDisk.rename_new(from, to)
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        LocalDisk.link(file, name)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        LocalDisk.remove(path)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        LocalDisk.create_folder(folder)
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        LocalDisk.set_mode(path, mode)
    }
}
