//! `devices/paired.json` and `devices/pending.json`: who may connect to the gateway, and who asks to
//! (`state-files.md` §5). The rules of them are `yabby_domain::device`.
//!
//! A file that cannot be read lets nobody in, and is not written over.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use yabby_domain::device::Devices;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::StoreError;
use yabby_domain::text::lossy;

use super::atomic;
use super::folder::read_plain;
use crate::disk::{Disk, Doing, shown};
use crate::paths::StateFolder;

pub struct DeviceFiles {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    /// One change at a time: the gateway is the only one that writes these files.
    changing: Mutex<()>,
}

impl DeviceFiles {
    pub fn of(folder: &StateFolder, disk: Arc<dyn Disk>) -> Self {
        Self { folder: folder.path().join("devices"), disk, changing: Mutex::default() }
    }

    /// What is there now; requests that are too old are not.
    pub fn read(&self, now: f64) -> Result<Devices, StoreError> {
        let mut devices = Devices { pending: read(&self.pending())?, paired: read(&self.paired())? };
        devices.prune(now);
        Ok(devices)
    }

    /// Changes both in one go, and writes what became different.
    pub fn update<T>(&self, now: f64, change: impl FnOnce(&mut Devices) -> T) -> Result<T, StoreError> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = Devices { pending: read(&self.pending())?, paired: read(&self.paired())? };
        let mut devices = before.clone();
        devices.prune(now);
        let result = change(&mut devices);
        if devices != before && !self.folder.exists() {
            self.disk.create_folder(&self.folder).doing("create", &self.folder)?;
        }
        // Devices first: of a request that is granted twice nothing is lost.
        if devices.paired != before.paired {
            self.write(&self.paired(), devices.paired)?;
        }
        if devices.pending != before.pending {
            self.write(&self.pending(), devices.pending)?;
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
        _ => Err(StoreError::Damaged { path: shown(file), what: "it holds no list of devices".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::LocalDisk;
    use yabby_domain::device::Introduction;

    #[test]
    fn devices_are_kept_and_a_damaged_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let files = DeviceFiles::of(&StateFolder::new(folder.path()), Arc::new(LocalDisk));
        let who = Introduction {
            device: "d".to_owned(),
            role: Some("operator".to_owned()),
            ..Introduction::default()
        };
        files.update(1.0, |devices| devices.request(&who, "r".to_owned(), 1.0)).unwrap();
        files.update(2.0, |devices| devices.approve("r", "token".to_owned(), 2.0)).unwrap().unwrap();
        let devices = files.read(3.0).unwrap();
        assert!(devices.pending.is_empty() && devices.paired.contains_key("d"));
        std::fs::write(files.paired(), "{ half").unwrap();
        assert!(matches!(files.read(4.0), Err(StoreError::Damaged { .. })));
        assert!(files.update(4.0, |devices| devices.request(&who, "s".to_owned(), 4.0)).is_err());
        assert_eq!(std::fs::read_to_string(files.paired()).unwrap(), "{ half");
    }
}
