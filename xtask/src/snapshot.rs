//! Everything about a folder that a reader must leave as it is: names, bytes, modes, times.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

#[derive(PartialEq, Eq)]
pub struct Snapshot(BTreeMap<PathBuf, Item>);

#[derive(PartialEq, Eq)]
pub struct Item {
    mode: u32,
    changed: (i64, i64),
    inode: u64,
    /// Of a folder there are none.
    bytes: Option<Vec<u8>>,
}

impl Snapshot {
    pub fn of(folder: &Path) -> Result<Self> {
        let mut items = BTreeMap::new();
        let mut open = vec![folder.to_owned()];
        while let Some(path) = open.pop() {
            let about =
                fs::symlink_metadata(&path).with_context(|| format!("looking at {}", path.display()))?;
            let bytes = if about.is_dir() {
                for entry in fs::read_dir(&path).with_context(|| format!("listing {}", path.display()))? {
                    open.push(entry?.path());
                }
                None
            } else {
                Some(fs::read(&path).with_context(|| format!("reading {}", path.display()))?)
            };
            let item = Item {
                mode: about.mode(),
                changed: (about.mtime(), about.mtime_nsec()),
                inode: about.ino(),
                bytes,
            };
            items.insert(path.strip_prefix(folder)?.to_owned(), item);
        }
        Ok(Self(items))
    }

    /// Fails if the folder is not as it was, and tells what is different.
    pub fn ensure_unchanged(&self, folder: &Path) -> Result<()> {
        let now = Self::of(folder)?;
        let names = self.0.keys().chain(now.0.keys());
        for name in names {
            let shown =
                if name.as_os_str().is_empty() { "the folder".into() } else { name.display().to_string() };
            match (self.0.get(name), now.0.get(name)) {
                (Some(_), None) => bail!("{shown} is gone"),
                (None, Some(_)) => bail!("{shown} is new"),
                (Some(before), Some(now)) if before.bytes != now.bytes => bail!("{shown} has other bytes"),
                (Some(before), Some(now)) if before != now => bail!("{shown} was touched"),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Item {
    pub fn of(path: &Path) -> Result<Self> {
        let about = fs::symlink_metadata(path).with_context(|| format!("looking at {}", path.display()))?;
        let read = || fs::read(path).with_context(|| format!("reading {}", path.display()));
        let bytes = if about.is_dir() { None } else { Some(read()?) };
        Ok(Self {
            mode: about.mode(),
            changed: (about.mtime(), about.mtime_nsec()),
            inode: about.ino(),
            bytes,
        })
    }
}

/// The names in a folder, sorted.
pub fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
