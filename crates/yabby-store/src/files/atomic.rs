//! Replacing a file in one step: whoever reads it sees the old text or the new one, never a part
//! (`sessions.md` §6).

use std::io;
use std::path::{Path, PathBuf};

use yabby_domain::seam::StoreError;

use crate::disk::{Disk, Doing, beside, parent, write_all};

/// A new text for a file, whole and safe on the disk, that is not in its place yet. It is removed
/// unless it is put there.
pub(crate) struct Draft<'d> {
    disk: &'d dyn Disk,
    path: PathBuf,
    target: PathBuf,
    placed: bool,
}

impl<'d> Draft<'d> {
    /// Writes the draft beside the file, under a name that nobody else uses.
    pub(crate) fn write(disk: &'d dyn Disk, target: &Path, text: &[u8]) -> Result<Self, StoreError> {
        let name = format!(".{}.{}.tmp", std::process::id(), uuid::Uuid::new_v4());
        let path = beside(target, &name);
        let file = disk.create_new(&path).doing("create", &path)?;
        let draft = Self { disk, path, target: target.to_owned(), placed: false };
        write_all(disk, &file, text).doing("write", &draft.path)?;
        disk.sync(&file).doing("sync", &draft.path)?;
        Ok(draft)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Somebody else put it in its place, or wants it to stay.
    pub(crate) fn let_be(mut self) {
        self.placed = true;
    }

    /// Gives the draft the name of the file, if nobody has it; tells whether it did. The name is not
    /// durable yet.
    pub(crate) fn claim(mut self) -> Result<bool, StoreError> {
        match self.disk.rename_new(&self.path, &self.target) {
            Ok(()) => self.placed = true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).doing("create", &self.target),
        }
        Ok(self.placed)
    }

    /// Puts the draft in the place of the file.
    pub(crate) fn place(mut self) -> Result<(), StoreError> {
        self.disk.rename(&self.path, &self.target).doing("replace", &self.target)?;
        self.placed = true;
        sync_parent(self.disk, &self.target)
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.placed {
            // What is left behind is only a draft.
            let _ = self.disk.remove(&self.path);
        }
    }
}

/// Writes a file in one step, for its owner only. A link in its place is replaced, not followed.
pub fn replace(disk: &dyn Disk, file: &Path, text: &[u8]) -> Result<(), StoreError> {
    Draft::write(disk, file, text)?.place()
}

/// Makes the names beside a file durable.
pub(crate) fn sync_parent(disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
    let folder = parent(path);
    disk.sync_folder(folder).doing("sync", folder)
}
