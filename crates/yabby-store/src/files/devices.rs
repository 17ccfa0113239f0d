//! `devices/paired.json` and `devices/pending.json`: who may connect to the gateway, and who asks to
//! (`state-files.md` §5). The rules of them are `yabby_domain::device`.
//!
//! A file that cannot be read lets nobody in, and is not written over.

use std::sync::Arc;

use yabby_domain::device::Devices;
use yabby_domain::seam::StoreError;

use super::pairing::{Pairing, PairingFiles};
use crate::disk::Disk;
use crate::paths::StateFolder;

pub struct DeviceFiles(PairingFiles);

impl DeviceFiles {
    pub fn of(folder: &StateFolder, disk: Arc<dyn Disk>) -> Self {
        Self(PairingFiles::new(folder.path().join("devices"), disk))
    }

    /// What is there now; requests that are too old are not.
    pub fn read(&self, now: f64) -> Result<Devices, StoreError> {
        let Pairing { pending, paired } = self.0.read()?;
        let mut devices = Devices { pending, paired };
        devices.prune(now);
        Ok(devices)
    }

    /// Changes both in one go, and writes what became different.
    pub fn update<T>(&self, now: f64, change: impl FnOnce(&mut Devices) -> T) -> Result<T, StoreError> {
        self.0.update(|Pairing { pending, paired }| {
            let mut devices = Devices { pending, paired };
            devices.prune(now);
            let result = change(&mut devices);
            (Pairing { pending: devices.pending, paired: devices.paired }, result)
        })
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
        std::fs::write(folder.path().join("devices/paired.json"), "{ half").unwrap();
        assert!(matches!(files.read(4.0), Err(StoreError::Damaged { .. })));
        assert!(files.update(4.0, |devices| devices.request(&who, "s".to_owned(), 4.0)).is_err());
        assert_eq!(std::fs::read_to_string(folder.path().join("devices/paired.json")).unwrap(), "{ half");
    }
}
