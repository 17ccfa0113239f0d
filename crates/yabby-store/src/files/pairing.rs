//! Two files beside each other: who asks to be let in, and who was (`state-files.md` §5).
//!
//! A file that cannot be read lets nobody in, and is not written over.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::StoreError;
use yabby_domain::text::lossy;

use super::atomic;
use super::folder::read_plain;
use crate::disk::{Disk, Doing, shown};

pub(super) struct PairingFiles {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    /// One change at a time: the gateway is the only one that writes these files.
    changing: Mutex<()>,
}

/// What both files hold: requests by their names, and those who were let in by theirs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pairing {
    pub(super) pending: Object,
    pub(super) paired: Object,
}

impl PairingFiles {
    pub(super) fn new(folder: PathBuf, disk: Arc<dyn Disk>) -> Self {
        Self { folder, disk, changing: Mutex::default() }
    }

    pub(super) fn read(&self) -> Result<Pairing, StoreError> {
        Ok(Pairing { pending: read(&self.pending())?, paired: read(&self.paired())? })
    }

    /// Changes both in one go, and writes what became different.
    pub(super) fn update<T>(&self, change: impl FnOnce(Pairing) -> (Pairing, T)) -> Result<T, StoreError> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.read()?;
        let (after, result) = change(before.clone());
        if after != before && !self.folder.exists() {
            self.disk.create_folder(&self.folder).doing("create", &self.folder)?;
        }
        // Who was let in first: of a request that is granted twice nothing is lost.
        if after.paired != before.paired {
            self.write(&self.paired(), after.paired)?;
        }
        if after.pending != before.pending {
            self.write(&self.pending(), after.pending)?;
        }
        Ok(result)
    }

    fn write(&self, file: &Path, records: Object) -> Result<(), StoreError> {
        atomic::replace(&*self.disk, file, json::stringify_pretty(&Value::Object(records)).as_bytes())
    }

    fn paired(&self) -> PathBuf {
        self.folder.join("paired.json")
    }

    fn pending(&self) -> PathBuf {
        self.folder.join("pending.json")
    }
}

fn read(file: &Path) -> Result<Object, StoreError> {
    let bytes = match read_plain(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Object::new()),
        read => read.doing("read", file)?,
    };
    match json::parse(&lossy(&bytes)) {
        Ok(Value::Object(records)) => Ok(records),
        _ => Err(StoreError::Damaged { path: shown(file), what: "it holds no list of pairings".to_owned() }),
    }
}
