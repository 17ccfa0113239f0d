//! Keeping a file under another name before something is done to it (`transcripts.md` §7.3, §7.8).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use yabby_domain::seam::StoreError;

use crate::disk::{Disk, Doing, beside, write_all};

/// Gives a file a second name, or its text where that cannot be done; the name, which may have a number
/// behind it if it was taken.
///
/// The file stays under its own name: it is replaced in one step after that, so that there is always
/// one.
pub(crate) fn keep_copy(disk: &dyn Disk, file: &Path, name: &Path) -> Result<PathBuf, StoreError> {
    under_free_name(name, |name| match disk.link(file, name) {
        Err(error) if cannot_link(&error) => copy(disk, file, name),
        done => done,
    })
}

/// Puts a file away; the name, as above.
pub(crate) fn put_away(disk: &dyn Disk, file: &Path, name: &Path) -> Result<PathBuf, StoreError> {
    under_free_name(name, |name| disk.rename_new(file, name))
}

/// As [`keep_copy`], under a name that is made of what the file holds: keeping it twice leaves one copy.
pub(crate) fn keep_by_content(
    disk: &dyn Disk,
    file: &Path,
    content: &[u8],
    ending: &str,
) -> Result<PathBuf, StoreError> {
    let name = named_by_content(file, content, ending);
    match fs::read(&name) {
        Ok(kept) if kept == content => Ok(name),
        _ => keep_copy(disk, file, &name),
    }
}

/// `<file>.<ending>-<what it holds>`
pub(crate) fn named_by_content(file: &Path, content: &[u8], ending: &str) -> PathBuf {
    let digest = Sha256::digest(content);
    let digest: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    beside(file, &format!(".{ending}-{digest}"))
}

/// Tries a name, and the same with a number behind it until one is free.
fn under_free_name(name: &Path, mut act: impl FnMut(&Path) -> io::Result<()>) -> Result<PathBuf, StoreError> {
    let mut taken = 1_u32;
    let mut free = name.to_owned();
    loop {
        match act(&free) {
            Ok(()) => return Ok(free),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                taken += 1;
                free = beside(name, &format!(".{taken}"));
            }
            Err(error) => return Err(error).doing("keep a copy as", &free),
        }
    }
}

/// Whether the file system has no second names.
pub(crate) fn cannot_link(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, TooManyLinks, Unsupported};
    matches!(error.kind(), PermissionDenied | TooManyLinks | Unsupported)
}

fn copy(disk: &dyn Disk, file: &Path, name: &Path) -> io::Result<()> {
    let text = fs::read(file)?;
    let copy = disk.create_new(name)?;
    write_all(disk, &copy, &text).and_then(|()| disk.sync(&copy)).inspect_err(|_| {
        let _ = disk.remove(name);
    })
}
