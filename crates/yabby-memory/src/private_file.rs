//! Files with what was said in them are for their owner alone, whatever the process leaves to others.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Makes a database its owner's alone, before anything is written to it: SQLite gives the files beside it the same
/// permissions. One that cannot be made so cannot be opened either, most likely, and that is told then.
pub(crate) fn make_private(database: &Path) {
    let _ = OpenOptions::new().create(true).append(true).mode(0o600).open(database);
    for ending in ["", "-wal", "-shm"] {
        close(&PathBuf::from(format!("{}{ending}", database.display())), 0o600);
    }
}

/// Makes a folder of ours, and closes it to others if it is there already.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    create_folder(folder)?;
    close(folder, 0o700);
    Ok(())
}

/// Makes a folder that is its owner's alone; one that is there stays as it is.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn close(path: &Path, mode: u32) {
    let is_open = |found: &fs::Metadata| !found.is_symlink() && found.permissions().mode() & 0o077 != 0;
    if fs::symlink_metadata(path).is_ok_and(|found| is_open(&found)) {
        // Whoever owns it instead decides.
        let _ = fs::set_permissions(path, Permissions::from_mode(mode));
    }
}
