//! A file of a workspace, which its agent and the commands of that can change at any time: a link may lead to another file of
//! the workspace, and nowhere else. The way is walked name by name, so that nobody swaps a folder on it for a link meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};

use super::folder::plain;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
// A pipe in the place of a file is not waited for.
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Opens a file to read it. Nothing but a plain file is one.
pub fn open(workspace: &Path, name: &Path) -> io::Result<File> {
    let found = Found::find(workspace, name)?;
    plain(File::from(openat(&found.folder, &found.name, OFlags::RDONLY | FILE, Mode::empty())?))
}

/// Writes a file in one step, for its owner only; where it is a link, what that leads to.
pub fn replace(workspace: &Path, name: &Path, text: &[u8]) -> io::Result<()> {
    let Found { folder, name } = Found::find(workspace, name)?;
    let draft = format!(".{}.{}.tmp", std::process::id(), uuid::Uuid::new_v4());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | FILE;
    let mut file = File::from(openat(&folder, &draft, flags, Mode::RUSR | Mode::WUSR)?);
    let written = file.write_all(text).and_then(|()| file.sync_all());
    let placed = written.and_then(|()| Ok(renameat(&folder, &draft, &folder, &name)?));
    if placed.is_err() {
        // What is left behind is only a draft.
        let _ = unlinkat(&folder, &draft, AtFlags::empty());
    }
    placed?;
    Ok(rustix::fs::fsync(&folder)?)
}

/// The folder that a file is in, open, and its name there.
struct Found {
    folder: OwnedFd,
    name: OsString,
}

impl Found {
    fn find(workspace: &Path, name: &Path) -> io::Result<Self> {
        if !name.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(outside());
        }
        let workspace = workspace.canonicalize()?;
        let names = real_names(&workspace, &workspace.join(name))?;
        let (above, name) = (names.parent().unwrap_or(Path::new("")), names.file_name().ok_or_else(outside)?);
        let mut folder = rustix::fs::open(&workspace, FOLDER, Mode::empty())?;
        for part in above {
            folder = openat(&folder, part, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
        }
        Ok(Self { folder, name: OsStr::to_owned(name) })
    }
}

/// The names from the workspace on of what a path leads to. A file that is missing may be made where the path is.
fn real_names(workspace: &Path, path: &Path) -> io::Result<PathBuf> {
    let is_missing = path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let real = match (is_missing, path.parent(), path.file_name()) {
        (true, Some(parent), Some(name)) => parent.canonicalize()?.join(name),
        _ => path.canonicalize().map_err(|error| match error.kind() {
            // A link to nothing: what was made there would be somewhere else.
            io::ErrorKind::NotFound => outside(),
            _ => error,
        })?,
    };
    real.strip_prefix(workspace).map(Path::to_owned).map_err(|_| outside())
}

fn outside() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "it leads out of the workspace")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn text(workspace: &Path, name: &str) -> Option<String> {
        Some(io::read_to_string(open(workspace, Path::new(name)).ok()?).unwrap())
    }

    #[test]
    fn nothing_leads_out() {
        let folder = tempfile::TempDir::new().unwrap();
        let workspace = folder.path().join("ws");
        fs::create_dir_all(workspace.join("sub")).unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        fs::write(workspace.join("sub/real.md"), "real").unwrap();
        symlink("../secret", workspace.join("out.md")).unwrap();
        symlink("..", workspace.join("up")).unwrap();
        symlink("../new", workspace.join("dangling.md")).unwrap();
        symlink("sub/real.md", workspace.join("in.md")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, workspace.join("pipe.md"), Mode::RUSR).unwrap();
        assert_eq!(text(&workspace, "in.md").as_deref(), Some("real"));
        assert_eq!(text(&workspace, "sub/real.md").as_deref(), Some("real"));
        for name in
            ["out.md", "up/secret", "dangling.md", "../secret", "/etc/passwd", "pipe.md", "sub", "none.md"]
        {
            assert_eq!(text(&workspace, name), None, "{name}");
        }
        for name in ["out.md", "up/secret", "up/new", "dangling.md", "../new", ""] {
            assert!(replace(&workspace, Path::new(name), b"planted").is_err(), "{name}");
        }
        assert_eq!(fs::read_to_string(folder.path().join("secret")).unwrap(), "secret");
        assert!(!folder.path().join("new").exists());
        replace(&workspace, Path::new("in.md"), b"changed").unwrap();
        replace(&workspace, Path::new("fresh.md"), b"fresh").unwrap();
        assert_eq!(fs::read_to_string(workspace.join("sub/real.md")).unwrap(), "changed");
        assert_eq!(text(&workspace, "fresh.md").as_deref(), Some("fresh"));
        assert_eq!(fs::read_dir(&workspace).unwrap().count(), 7);
    }

    /// Somebody swaps a folder for a link to elsewhere, again and again.
    #[test]
    fn nobody_swaps_a_folder_on_the_way() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let folder = tempfile::TempDir::new().unwrap();
        let (workspace, outside) = (folder.path().join("ws"), folder.path().join("outside"));
        for place in [workspace.join("sub"), outside.clone()] {
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("real.md"), place.to_string_lossy().as_bytes()).unwrap();
        }
        symlink("sub/real.md", workspace.join("in.md")).unwrap();
        symlink(&outside, workspace.join("other")).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let [sub, other] = ["sub", "other"].map(|name| workspace.join(name));
                while !done.load(Ordering::Relaxed) {
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    let cwd = rustix::fs::CWD;
                    if rustix::fs::renameat_with(cwd, &sub, cwd, &other, flags).is_err() {
                        return;
                    }
                }
            });
            for _ in 0..2000 {
                if let Some(read) = text(&workspace, "in.md") {
                    assert_ne!(read, outside.to_string_lossy());
                }
                let _ = replace(&workspace, Path::new("in.md"), b"planted");
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(fs::read_to_string(outside.join("real.md")).unwrap(), outside.to_string_lossy());
    }
}
