//! A look at a store that may be damaged, and making it whole again (`sessions.md` §6).
//!
//! Everybody else refuses a damaged store. Here it is read as far as it goes, and replaced by what could be
//! salvaged, once the original is kept under another name.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use yabby_domain::json::Value;
use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::session::salvage::{Content, Found, Survey};
use yabby_domain::session::store_journal::{Change, Journal, Line};
use yabby_domain::session::store_text::{join_store, record_text};
use yabby_domain::text::lossy;

use super::journal_file::{Access, JournalFile};
use super::keeper::reading::is_in_place;
use super::keeper::writing::new_header;
use super::lock;
use crate::disk::{Disk, Doing, beside, no_wait};
use crate::file_state::FileState;
use crate::files::atomic::Draft;
use crate::files::folder::plain;
use crate::files::keeping::keep_by_content;

/// A store and its journal as they are on the disk.
pub(crate) struct Look {
    pub(crate) is_there: bool,
    pub(crate) is_text: bool,
    pub(crate) has_mark: bool,
    pub(crate) survey: Survey,
    pub(crate) journal: Option<JournalLook>,
}

pub(crate) struct JournalLook {
    pub(crate) changes: Vec<Change>,
    /// Lines that are none of ours, counted from one.
    pub(crate) damaged: Vec<usize>,
    /// Its last line was being written when its writer died.
    pub(crate) is_cut_off: bool,
    /// It speaks of a fold whose writer died.
    pub(crate) is_spent: bool,
    /// Drafts that it says are about to be put in the place of the store.
    pub(crate) drafts: Vec<String>,
}

impl Look {
    /// Reads a store and its journal; nothing is changed.
    pub(crate) fn at(store: &Path) -> Result<Self, StoreError> {
        // Another process may fold in between: its journal then goes after the store was written.
        let journal = read(&beside(store, ".journal"))?;
        let bytes = read(store)?;
        let state = FileState::of(store).doing("look at", store)?;
        let text = lossy(bytes.as_deref().unwrap_or_default());
        Ok(Self {
            is_there: bytes.is_some(),
            is_text: bytes.as_ref().is_none_or(|bytes| std::str::from_utf8(bytes).is_ok()),
            has_mark: text.starts_with('\u{feff}'),
            survey: Survey::of(&text),
            journal: journal.map(|bytes| JournalLook::of(&bytes, store, &state.to_string())),
        })
    }

    pub(crate) fn needs_mending(&self) -> bool {
        !self.is_text || self.survey.needs_mending()
    }

    /// The records as readers see them, or would if the store could be read: with the changes of the journal.
    pub(crate) fn records(&self) -> IndexMap<String, Value> {
        let mut records: IndexMap<String, Value> = IndexMap::new();
        for found in chosen(&self.survey) {
            match &found.record {
                Content::Whole(value) => records.insert(found.key.clone(), value.clone()),
                Content::Part(fields) => records.insert(found.key.clone(), Value::Object(fields.clone())),
                Content::TooDeep(_) => None,
            };
        }
        for change in self.journal.iter().flat_map(|journal| &journal.changes) {
            let record = records.get(&change.key).and_then(Value::as_object);
            let mut record =
                record.map(|fields| yabby_domain::session::entry::SessionEntry::new(fields.clone()));
            if change.kind.apply(&mut record).is_err() {
                continue;
            }
            match record {
                Some(record) => drop(records.insert(change.key.clone(), Value::Object(record.into_object()))),
                None => drop(records.shift_remove(&change.key)),
            }
        }
        records
    }
}

impl JournalLook {
    fn of(bytes: &[u8], store: &Path, store_now: &str) -> Self {
        let journal = Journal::read(bytes, |folded| is_in_place(store, folded, store_now));
        Self {
            changes: journal.changes,
            damaged: journal.damaged,
            is_cut_off: journal.whole < bytes.len(),
            is_spent: journal.is_folded || !journal.waiting_drafts.is_empty(),
            drafts: journal.waiting_drafts,
        }
    }
}

/// What was done to a store.
#[derive(Debug, Default)]
pub(crate) struct Mended {
    /// How many records the new store has, and where the damaged one is.
    pub(crate) store: Option<(usize, PathBuf)>,
    /// Where a copy of the damaged journal is.
    pub(crate) journal: Option<PathBuf>,
}

/// Makes a store and its journal such as everybody reads them, if they are not. What was damaged is kept.
pub(crate) fn mend(disk: &Arc<dyn Disk>, clock: &dyn Clock, store: &Path) -> Result<Mended, StoreError> {
    let _lock = lock::acquire(disk, clock, store)?;
    let mut journal = JournalFile::new(disk.clone(), beside(store, ".journal"));
    journal.lock(Access::Write)?;
    let look = Look::at(store)?;
    let mut mended = Mended { journal: mend_journal(&**disk, &mut journal, &look)?, ..Mended::default() };
    if look.needs_mending() {
        let original = read(store)?.unwrap_or_default();
        let kept = keep_by_content(&**disk, store, &original, "damaged")?;
        let (count, text) = salvaged_text(&look.survey);
        Draft::write(&**disk, store, text.as_bytes())?.place()?;
        mended.store = Some((count, kept));
    }
    if journal.len()? == 0 {
        journal.remove()?;
    }
    journal.unlock();
    Ok(mended)
}

/// Removes the lock of a store if nobody holds it, and waits until that is sure.
pub(crate) fn free_lock(disk: &Arc<dyn Disk>, clock: &dyn Clock, store: &Path) -> Result<(), StoreError> {
    lock::acquire(disk, clock, store).map(drop)
}

/// Leaves a journal of readable lines; of one with others a copy is kept.
fn mend_journal(
    disk: &dyn Disk,
    journal: &mut JournalFile,
    look: &Look,
) -> Result<Option<PathBuf>, StoreError> {
    let Some(found) = &look.journal else { return Ok(None) };
    let bytes = journal.read_from(0)?;
    // Whether a fold happened is told by which file the store is, and that is about to change.
    let must_forget_folds = look.needs_mending() && found.is_spent;
    if bytes.is_empty() || (found.damaged.is_empty() && !found.is_cut_off && !must_forget_folds) {
        return Ok(None);
    }
    let kept = match found.damaged.is_empty() {
        true => None,
        false => Some(keep_by_content(disk, journal.path(), &bytes, "damaged")?),
    };
    let lines: String = if must_forget_folds {
        found.changes.iter().map(|change| Line::Change(change.clone()).text()).collect()
    } else {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        let lines = lines.filter_map(|line| Line::parse(std::str::from_utf8(line).ok()?.trim_end()));
        lines.filter(|line| !matches!(line, Line::Header { .. })).map(|line| line.text()).collect()
    };
    if lines.is_empty() {
        journal.remove()?;
    } else {
        journal.replace(&new_header().1, lines.as_bytes())?;
    }
    // Another journal has another lock.
    journal.lock(Access::Write)?;
    Ok(kept)
}

/// How many records there are, and the text of a store with them.
fn salvaged_text(survey: &Survey) -> (usize, String) {
    let text = |found: &&Found| match &found.record {
        Content::Whole(value) => record_text(value),
        Content::Part(fields) => record_text(&Value::Object(fields.clone())),
        Content::TooDeep(text) => text.clone(),
    };
    let records: Vec<(&str, String)> =
        chosen(survey).iter().map(|found| (found.key.as_str(), text(found))).collect();
    (records.len(), join_store(records.iter().map(|(key, text)| (*key, text.as_str()))))
}

/// One record a key: the last one that is complete, or else what there is. Nothing that is no record takes
/// the place of one.
fn chosen(survey: &Survey) -> Vec<&Found> {
    let rank = |found: &Found| match &found.record {
        Content::Whole(Value::Object(_)) => 3,
        Content::TooDeep(_) => 2,
        Content::Part(_) => 1,
        Content::Whole(_) => 0,
    };
    let mut by_key = IndexMap::<&str, &Found>::new();
    for found in &survey.records {
        let known = by_key.entry(&found.key).or_insert(found);
        if rank(found) >= rank(known) {
            *known = found;
        }
    }
    by_key.into_values().collect()
}

/// The bytes of a file, if there is one. A link is followed, as everybody does who reads a store; a pipe is
/// not waited for.
fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let file = match OpenOptions::new().read(true).custom_flags(no_wait()).open(path).and_then(plain) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.doing("open", path)?,
    };
    let mut bytes = Vec::new();
    (&file).read_to_end(&mut bytes).doing("read", path)?;
    Ok(Some(bytes))
}
