//! A lock that is a folder: only one of those who want to create it does, and it needs no text.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use yabby_domain::seam::StoreError;

use crate::disk::{Doing, shown};

/// A lock of this age was left behind.
const STALE: Duration = Duration::from_secs(30);
const TRIES: u32 = 10;

/// A folder that stands for whoever changes the file.
pub(crate) struct LockFolder(PathBuf);

impl LockFolder {
    pub(crate) fn take(path: &Path) -> Result<Self, StoreError> {
        let mut pause = Duration::from_millis(100);
        for _ in 0..TRIES {
            match std::fs::create_dir(path) {
                Ok(()) => return Ok(Self(path.to_owned())),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).doing("lock", path),
            }
            let age = path.metadata().and_then(|found| found.modified()).ok();
            let age = age.and_then(|at| SystemTime::now().duration_since(at).ok());
            if age.is_some_and(|age| age > STALE) {
                // Somebody died; if somebody else is quicker, there is a new lock, or none.
                let _ = std::fs::remove_dir(path);
                continue;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_secs(2));
        }
        Err(StoreError::Busy { path: shown(path) })
    }
}

impl Drop for LockFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}
