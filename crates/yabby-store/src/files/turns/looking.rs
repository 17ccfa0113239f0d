//! Looking at the journals of all processes without taking anything from them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use yabby_domain::seam::StoreError;
use yabby_domain::turn::retention::merged;
use yabby_domain::turn::{Progress, Record, Step, TurnId, progress};

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
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.doing("list", folder)?;
        let owner = entry.file_name().to_str().and_then(JournalName::parse);
        if let Some(owner) = owner {
            found.extend(read(entry.path(), owner)?);
        }
    }
    found.sort_by(|one, other| one.0.path.cmp(&other.0.path));
    // A turn is shown where it was accepted; what came next may stand in the journal of another process.
    let journals: Vec<Vec<Record>> = found.iter_mut().map(|(_, records)| std::mem::take(records)).collect();
    let accepted = |records: &Vec<Record>| -> HashSet<TurnId> {
        let begins = records.iter().filter(|record| matches!(record.step, Step::Accepted(_)));
        begins.map(|record| record.turn.clone()).collect()
    };
    let accepted: Vec<HashSet<TurnId>> = journals.iter().map(accepted).collect();
    let records = merged(journals);
    let last: HashMap<TurnId, i64> = records.iter().map(|record| (record.turn.clone(), record.at)).collect();
    let mut turns = progress(records);
    for ((journal, _), accepted) in found.iter_mut().zip(accepted) {
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            std::mem::take(&mut turns).into_iter().partition(|(id, _)| accepted.contains(id));
        turns = elsewhere.into_iter().collect();
        let turn = |(id, progress): (TurnId, Progress)| {
            let last_at = last.get(&id).copied().unwrap_or(progress.accepted_at);
            TurnLook { id, progress, last_at }
        };
        journal.turns = here.into_iter().map(turn).collect();
    }
    Ok(found.into_iter().map(|(journal, _)| journal).collect())
}

/// A journal without its turns, and its records.
fn read(path: PathBuf, owner: JournalName) -> Result<Option<(JournalLook, Vec<Record>)>, StoreError> {
    let file = match open_plain(&path) {
        // It was adopted, or its process is done.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.doing("open", &path)?,
    };
    let bytes = read_whole(&file).doing("read", &path)?;
    let is_alive = file.try_lock_shared().is_err();
    drop(file);
    let Text { records, damaged, is_cut_off } = Text::read(&bytes);
    let bytes = bytes.len() as u64;
    let journal = JournalLook { path, owner, is_alive, bytes, turns: Vec::new(), damaged, is_cut_off };
    Ok(Some((journal, records)))
}
