//! Going on with what processes that are no more left behind.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use yabby_domain::seam::StoreError;
use yabby_domain::session::store_lock::Process;
use yabby_domain::turn::{Record, TurnId};

use super::name::{JournalName, Kind};
use super::reading::{Text, damage, read_whole};
use crate::disk::{Disk, Doing, names_file, no_follow, no_wait, shown};
use crate::files::folder::plain;
use crate::files::keeping::{named_by_content, put_away};
use crate::process::look_up;

/// Journals without an owner, which nobody else can take meanwhile.
#[derive(Default)]
pub(super) struct Inheritance {
    pub(super) files: Vec<Lingering>,
    /// What stands in each file.
    pub(super) journals: Vec<Vec<Record>>,
    pub(super) notices: Vec<String>,
}

/// A file that was adopted. It stays as long as a turn in it is not settled; what comes next of its turns stands in
/// the file of this process.
pub(super) struct Lingering {
    path: PathBuf,
    /// Holds the lock.
    file: File,
    pub(super) turns: HashSet<TurnId>,
    pub(super) unsettled: HashSet<TurnId>,
    /// Where it goes if it cannot be thrown away, since not everything in it was understood.
    aside: Option<PathBuf>,
}

impl Lingering {
    pub(super) fn is_gone(&self) -> bool {
        !names_file(&self.path, &self.file)
    }

    pub(super) fn records(&self) -> Result<Vec<Record>, StoreError> {
        Ok(Text::read(&read_whole(&self.file).doing("read", &self.path)?).records)
    }

    pub(super) fn remove(&mut self, disk: &dyn Disk) -> io::Result<()> {
        if self.is_gone() {
            return Ok(());
        }
        match &self.aside {
            None => disk.remove(&self.path),
            Some(aside) => put_away(disk, &self.path, aside).map(drop).map_err(io::Error::other),
        }
    }
}

impl Inheritance {
    /// Takes every journal in the folder that `kind` adopts and that nobody holds, and sweeps up drafts
    /// whose writers died.
    pub(super) fn find(disk: &dyn Disk, folder: &Path, kind: Kind) -> Result<Self, StoreError> {
        let mut inheritance = Self::default();
        for name in names(folder)? {
            let path = folder.join(&name);
            match JournalName::parse(&name) {
                Some(owner) if kind.adopts(owner.kind) => inheritance.take(disk, path, &owner, kind)?,
                Some(_) => {}
                None => sweep(disk, &path, &name),
            }
        }
        Ok(inheritance)
    }

    fn take(
        &mut self,
        disk: &dyn Disk,
        path: PathBuf,
        owner: &JournalName,
        kind: Kind,
    ) -> Result<(), StoreError> {
        let file = match open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                self.notices.push(format!("cannot read {}: {error}; it is left as it is", shown(&path)));
                return Ok(());
            }
            Ok(file) => file,
        };
        // Somebody else may have adopted it, or its owner may have written it anew, since it was opened.
        if !is_left_behind(&file, owner.pid).doing("lock", &path)? || !names_file(&path, &file) {
            return Ok(());
        }
        let bytes = read_whole(&file).doing("read", &path)?;
        let text = Text::read(&bytes);
        let aside = (!text.damaged.is_empty()).then(|| named_by_content(&path, &bytes, "damaged"));
        if let Some(aside) = &aside {
            let told = damage(&shown(&path), &text.damaged);
            self.notices.push(format!("{told}. The file is kept as {}", shown(aside)));
        }
        // Under a name of this process it is ours in the eyes of everybody, and of the right kind for whoever comes
        // next: the rest of its turns is written to a file of that kind.
        let ours = path.with_file_name(JournalName::fresh(kind).file_name());
        let ours = if disk.rename(&path, &ours).is_ok() { ours } else { path };
        let turns: HashSet<TurnId> = text.records.iter().map(|record| record.turn.clone()).collect();
        self.files.push(Lingering { path: ours, file, unsettled: turns.clone(), turns, aside });
        self.journals.push(text.records);
        Ok(())
    }
}

fn names(folder: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.doing("list", folder)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.doing("list", folder)?;
        names.extend(entry.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

/// To read it and to lock it; what is a link or no file is an error.
fn open(path: &Path) -> io::Result<File> {
    plain(OpenOptions::new().read(true).custom_flags(no_follow() | no_wait()).open(path)?)
}

/// Whether nobody held the file; we do from now on.
fn is_left_behind(file: &File, owner: i64) -> io::Result<bool> {
    /// Whoever only looks at a journal locks it for a moment, too.
    const PATIENCE: u32 = 20;
    const MOMENT: Duration = Duration::from_millis(5);
    for _ in 0..PATIENCE {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if look_up(owner) == Process::Gone => sleep(MOMENT),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}

/// Removes a draft if its writer is gone. It harms nobody if it stays.
fn sweep(disk: &dyn Disk, path: &Path, name: &str) {
    let Some((of, pid)) = draft(name) else { return };
    if JournalName::parse(of).is_some() && look_up(pid) == Process::Gone {
        let is_free = open(path).is_ok_and(|file| file.try_lock().is_ok());
        if is_free {
            let _ = disk.remove(path);
        }
    }
}

/// `<journal>.<pid>.<uuid>.tmp`
fn draft(name: &str) -> Option<(&str, i64)> {
    let (rest, _) = name.strip_suffix(".tmp")?.rsplit_once('.')?;
    let (of, pid) = rest.rsplit_once('.')?;
    Some((of, pid.parse().ok()?))
}
