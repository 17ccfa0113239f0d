//! A folder that nothing leads out of (`sessions.md` §5).

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use yabby_domain::seam::StoreError;

use crate::disk::{Doing, no_follow, no_wait, parent, shown};

/// Opens a file of a folder to read it; `None` if it is missing. A link may lead to another file of the
/// same folder, and nowhere else.
pub(crate) fn open_inside(path: &Path) -> Result<Option<File>, StoreError> {
    match open_plain(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(_) if is_link(path) => {
            let Some(target) = target_inside(path)? else { return Ok(None) };
            open_plain(&target).map(Some).doing("open", &target)
        }
        Err(error) => Err(error).doing("open", path),
    }
}

/// The file that a path really names, which lies in the same folder; the path itself if it is no link
/// or missing.
pub(crate) fn resolved_inside(path: &Path) -> Result<PathBuf, StoreError> {
    if !is_link(path) {
        return Ok(path.to_owned());
    }
    let outside = || StoreError::Outside { path: shown(path), folder: shown(parent(path)) };
    target_inside(path)?.ok_or_else(outside)
}

fn target_inside(link: &Path) -> Result<Option<PathBuf>, StoreError> {
    let folder = parent(link);
    let folder = folder.canonicalize().doing("resolve", folder)?;
    let target = match link.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        target => target.doing("resolve", link)?,
    };
    if target.parent() == Some(folder.as_path()) {
        return Ok(Some(target));
    }
    Err(StoreError::Outside { path: shown(link), folder: shown(&folder) })
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
}

/// Opens a file to read it. A link is an error, and so is a pipe: it would be waited for.
pub(crate) fn open_plain(path: &Path) -> io::Result<File> {
    plain(OpenOptions::new().read(true).custom_flags(no_follow() | no_wait()).open(path)?)
}

/// The whole of a file, wherever a link leads. A pipe is an error, as above.
pub(crate) fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    plain(OpenOptions::new().read(true).custom_flags(no_wait()).open(path)?)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The file, unless it is a folder, a pipe or the like.
pub(crate) fn plain(file: File) -> io::Result<File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no plain file")),
    }
}
