//! The folder itself, and the disk that it is on.

use std::io;

use rustix::fs::{StatVfsMountFlags, statvfs};

use super::examination::Round;
use super::finding::{Code, Finding};

/// Whether there is a folder to look into.
pub(super) fn examine(round: &mut Round<'_>) -> bool {
    /// A few long conversations.
    const LOW: u64 = 200 * 1024 * 1024;
    let folder = round.doctor.place.folder.path().to_owned();
    match folder.read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            round.found(Finding::new(Code::FolderMissing, folder, "There is no such folder yet."));
            return false;
        }
        Err(error) => {
            round.found(Finding::new(Code::FolderUnreadable, folder, format!("It cannot be read: {error}.")));
            return false;
        }
        Ok(_) => {}
    }
    if let Ok(about) = statvfs(&folder) {
        let free = about.f_bavail.saturating_mul(about.f_frsize);
        round.checked.free = Some(free);
        if free < LOW {
            let what = format!("Only {} MB are free on its disk.", free / 1024 / 1024);
            round.found(Finding::new(Code::SpaceLow, folder.clone(), what));
        }
        if about.f_flag.contains(StatVfsMountFlags::RDONLY) {
            round.found(Finding::new(Code::ReadOnly, folder, "Its file system is mounted read-only."));
        }
    }
    true
}
