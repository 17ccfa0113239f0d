//! Looking at the journals of all processes without taking anything from them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use yabby_domain::seam::StoreError;
use yabby_domain::turn::{Progress, TurnId, progress};

use super::name::JournalName;
use super::reading::{Text, read_whole};
use crate::disk::Doing;
use crate::files::folder::open_plain;

/// One process's journal.
#[derive(Clone, Debug)]
pub struct JournalLook {
    pub path: PathBuf,
    pub owner: JournalName,
    /// Whether its process still holds it.
    pub is_alive: bool,
    pub bytes: u64,
    /// Every turn in it, in the order in which they were accepted.
    pub turns: Vec<TurnLook>,
    /// Lines that are no records, counted from one.
    pub damaged: Vec<usize>,
    /// The last line was not finished; nobody was told that it was written.
    pub is_cut_off: bool,
}

#[derive(Clone, Debug)]
pub struct TurnLook {
    pub id: TurnId,
    pub progress: Progress,
    /// When its last step was written, in milliseconds since 1970.
    pub last_at: i64,
}

/// Every journal in the folder; none if there is no folder.
pub fn look(folder: &Path) -> Result<Vec<JournalLook>, StoreError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.doing("list", folder)?,
    };
    let mut journals = Vec::new();
    for entry in entries {
        let entry = entry.doing("list", folder)?;
        let owner = entry.file_name().to_str().and_then(JournalName::parse);
        if let Some(owner) = owner {
            journals.extend(look_at(entry.path(), owner)?);
        }
    }
    journals.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(journals)
}

fn look_at(path: PathBuf, owner: JournalName) -> Result<Option<JournalLook>, StoreError> {
    let file = match open_plain(&path) {
        // It was adopted, or its process is done.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.doing("open", &path)?,
    };
    let bytes = read_whole(&file).doing("read", &path)?;
    let is_alive = file.try_lock_shared().is_err();
    drop(file);
    let Text { records, damaged, is_cut_off } = Text::read(&bytes);
    let mut last = std::collections::HashMap::new();
    for record in &records {
        last.insert(record.turn.clone(), record.at);
    }
    let turn = |(id, progress): (TurnId, Progress)| {
        let last_at = last.get(&id).copied().unwrap_or(progress.accepted_at);
        TurnLook { id, progress, last_at }
    };
    let turns = progress(records).into_iter().map(turn).collect();
    Ok(Some(JournalLook { path, owner, is_alive, bytes: bytes.len() as u64, turns, damaged, is_cut_off }))
}
