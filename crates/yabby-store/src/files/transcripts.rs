//! The conversations of one agent: a folder of transcripts (`transcripts.md` §2, §4, §7).
//!
//! [`TranscriptFolder`] waits for the disk; behind [`TranscriptStore`] it does so on threads made for it.
//! Questions that have no answer yet are in a journal beside their file, and every reader sees both.
//!
//! [`TranscriptStore`]: yabby_domain::seam::TranscriptStore

mod adopting;
mod cache;
mod forgetting;
mod lock;
mod mending;
mod pen;
mod plan;
mod reading;
mod seam;
mod text;
mod undoing;
mod writer;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use yabby_domain::seam::{Begin, Clock, Compacted, Fork, StoreError};
use yabby_domain::text::lossy;
use yabby_domain::transcript::file::{OnOpen, TranscriptFile, Write};
use yabby_domain::transcript::file_name::{self, ArchiveReason, TranscriptId};
use yabby_domain::transcript::file_repair::MissingHeader;
use yabby_domain::transcript::fork::{self, NoSource};
use yabby_domain::transcript::header::NewSession;
use yabby_domain::transcript::journal::{self, Pending};
use yabby_domain::transcript::line_compact::{LineCompaction, MaxLines, compact};
use yabby_domain::transcript::{Stamp, Transcript, lock as lock_rules};

use super::atomic::{Draft, sync_parent};
use super::folder::{open_inside, resolved_inside};
use super::keeping::{keep_copy, put_away};
use crate::clock::SystemClock;
use crate::disk::{Disk, Doing, LocalDisk, beside, names_file, shown};
use crate::file_state::FileState;
use cache::TranscriptCache;
use lock::TranscriptLock;
use pen::Pen;
use reading::{Conversation, Found, shared};
use writer::Memory;

pub use adopting::Adopted;
pub(crate) use lock::{holder_of, is_held};
pub use plan::{ContextPlan, Messages};
pub(crate) use seam::blocking;
pub use writer::Writer;

/// A folder of transcripts, which need not exist. Copies are the same folder.
#[derive(Clone)]
pub struct TranscriptFolder {
    folder: Arc<Path>,
    settings: Settings,
    cache: Arc<TranscriptCache>,
}

/// What a folder of transcripts works with.
#[derive(Clone)]
pub struct Settings {
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    /// How long to wait for a transcript that somebody else writes.
    pub lock_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { disk: Arc::new(LocalDisk), clock: Arc::new(SystemClock), lock_timeout: lock_rules::TIMEOUT }
    }
}

impl TranscriptFolder {
    pub fn open(folder: impl Into<PathBuf>) -> Self {
        Self::open_with(folder, Settings::default())
    }

    pub fn open_with(folder: impl Into<PathBuf>, settings: Settings) -> Self {
        let folder = folder.into();
        // Whoever changes the current folder later does not mean this one.
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        Self { folder: folder.into(), settings, cache: Arc::default() }
    }

    /// Opens a conversation to go on with it, or begins one.
    pub fn open_blocking(&self, id: &TranscriptId, begin: &Begin) -> Result<Writer, StoreError> {
        let (path, lock) = self.locked(id)?;
        self.open_locked(path, lock, begin)
    }

    fn open_locked(&self, path: PathBuf, lock: TranscriptLock, begin: &Begin) -> Result<Writer, StoreError> {
        let session = NewSession { id: &begin.session_id, cwd: &begin.cwd, parent: begin.parent.as_deref() };
        let state = FileState::of_readable(&path);
        let (file, journal_is_done) = match self.cached(&path, state, &begin.cwd) {
            Some(cached) => (cached, false),
            None => match self.end_of(&path, &begin.cwd)? {
                Some(end) => (end, false),
                None => self.put_in_order(&path, session)?,
            },
        };
        // What was put in order is another file now.
        let known = (FileState::of_readable(&path) == state).then_some(state.size());
        let Settings { disk, clock, .. } = self.settings.clone();
        let pen = Pen::new(disk, clock, path, lock, journal_is_done)?.after_reading(known);
        Ok(Writer { memory: Memory { folder: self.clone(), file }, pen })
    }

    /// A transcript as it was left by the last one who wrote it, if nobody else has touched it since.
    fn cached(&self, path: &Path, state: FileState, cwd: &str) -> Option<TranscriptFile> {
        let mut file = self.cache.take(path, state)?;
        if beside(path, ".journal").symlink_metadata().is_ok() {
            return None;
        }
        file.move_leaf_to_end();
        let cwd = file.transcript().header().cwd().unwrap_or(cwd).to_owned();
        Some(file.working_in(&cwd))
    }

    /// The path of a conversation's file and its lock; the folder exists after that.
    fn locked(&self, id: &TranscriptId) -> Result<(PathBuf, TranscriptLock), StoreError> {
        let Settings { disk, clock, lock_timeout } = &self.settings;
        if !self.folder.exists() {
            disk.create_folder(&self.folder).doing("create", &self.folder)?;
        }
        let path = resolved_inside(&self.path(id))?;
        let lock = TranscriptLock::acquire(disk, &**clock, &path, *lock_timeout)?;
        Ok((path, lock))
    }

    /// The end of a long file, if that is enough to go on with it.
    fn end_of(&self, path: &Path, cwd: &str) -> Result<Option<TranscriptFile>, StoreError> {
        /// Shorter files are read as a whole.
        const LONG: u64 = 1024 * 1024;
        if path.metadata().is_ok_and(|file| file.len() < LONG) {
            return Ok(None);
        }
        let Some(conversation) = Conversation::at(path)?.filter(|found| !found.has_journal()) else {
            return Ok(None);
        };
        let text = &conversation.text;
        if text.length() < LONG {
            return Ok(None);
        }
        let Some((header, tail)) = plan::tail_of(text).doing("read", path)? else { return Ok(None) };
        let Some(window) = tail.window.filter(|_| tail.has_assistant) else { return Ok(None) };
        let lines = text.read(window.offset, u64::MAX).doing("read", path)?;
        let unterminated = lines.last() != Some(&b'\n');
        let window = Transcript::read_window(header, &shared(lines), window.earlier);
        Ok(Some(TranscriptFile::of_window(window, unterminated, cwd)))
    }

    /// All of a file, for somebody who has its end.
    fn whole_file(&self, path: &Path, cwd: &str) -> Result<TranscriptFile, StoreError> {
        let conversation =
            Conversation::at(path)?.ok_or_else(|| StoreError::Replaced { path: shown(path) })?;
        let bytes = conversation.text.all().doing("read", path)?;
        let unterminated = bytes.last() != Some(&b'\n');
        let whole = Transcript::read_shared(&shared(bytes))
            .ok_or_else(|| StoreError::Replaced { path: shown(path) })?;
        Ok(TranscriptFile::of_window(whole, unterminated, cwd))
    }

    /// Reads a transcript as a whole, and does to its file what must be done before it can be gone on
    /// with. Tells as well whether its journal is of no more use.
    fn put_in_order(
        &self,
        path: &Path,
        session: NewSession<'_>,
    ) -> Result<(TranscriptFile, bool), StoreError> {
        let disk = &*self.settings.disk;
        let found = Found::at(path)?;
        let now = self.settings.clock.now();
        let mut bytes = found.bytes;
        if let Some(missing) = bytes.as_ref().and_then(|bytes| MissingHeader::of(&lossy(bytes), session, now))
        {
            let old = bytes.as_deref().unwrap_or_default();
            let body = old.get(missing.skip..).unwrap_or_default();
            let new = [missing.header.as_bytes(), b"\n", body].concat();
            self.replace(path, &new, Some(&self.archive_name(path, ArchiveReason::Backup)))?;
            bytes = Some(new);
        }
        let is_text = bytes.as_ref().is_none_or(|bytes| std::str::from_utf8(bytes).is_ok());
        let text = bytes.map(shared);
        let mut journal = lossy(&found.journal);
        let mut journal_is_done = false;
        if let Pending::Overtaken { lost } =
            journal::pending(text.as_ref().map(|text| text.as_str()), &journal)
        {
            journal_is_done = !lost;
            journal = Cow::Borrowed("");
            if lost {
                // Somebody else went on without these lines. They are kept, but do not come back.
                let journal = beside(path, ".journal");
                put_away(disk, &journal, &self.archive_name(&journal, ArchiveReason::Backup))?;
                sync_parent(disk, path)?;
            }
        }
        let (file, action) =
            self.stamped(|stamp| TranscriptFile::resume(text.as_ref(), &journal, session, stamp));
        match action {
            OnOpen::Nothing => {}
            OnOpen::Replace { text, keep_copy } => {
                let name = file_name::repair_backup(&shown(path), std::process::id(), now);
                // Bytes that are not text are not in the new one.
                let copy = (keep_copy || !is_text).then(|| PathBuf::from(name));
                self.replace(path, text.as_bytes(), copy.as_deref())?;
            }
            OnOpen::SetAside { text } => {
                self.replace(path, text.as_bytes(), Some(&self.archive_name(path, ArchiveReason::Backup)))?;
            }
        }
        Ok((file, journal_is_done))
    }

    /// Puts a new text in the place of a file, and keeps the old one under another name if there is one
    /// for it; that name.
    fn replace(&self, path: &Path, text: &[u8], keep: Option<&Path>) -> Result<Option<PathBuf>, StoreError> {
        let disk = &*self.settings.disk;
        let draft = Draft::write(disk, path, text)?;
        let kept = keep.map(|name| keep_copy(disk, path, name)).transpose()?;
        draft.place().inspect_err(|_| {
            // If nothing happened, there is nothing to keep a copy of.
            if let (Some(kept), Ok(Some(file))) = (&kept, open_inside(path))
                && names_file(kept, &file)
            {
                let _ = disk.remove(kept);
            }
        })?;
        Ok(kept)
    }

    /// A new conversation that goes on from another one; its name.
    pub fn fork_blocking(&self, id: &TranscriptId, how: &Fork) -> Result<TranscriptId, StoreError> {
        let path = self.path(id);
        let no_source = || NoSource(shown(&path));
        let bytes = match Conversation::at(&path)? {
            Some(conversation) => conversation.text.all().doing("read", &path)?,
            None => return Err(no_source().into()),
        };
        let text = shared(bytes);
        let disk = &*self.settings.disk;
        loop {
            let made = self.stamped(|stamp| -> Result<fork::Fork, StoreError> {
                let source = shown(&path);
                if let Fork::Whole { cwd } = how {
                    return Ok(fork::fork_from(&text, &source, cwd, stamp)?);
                }
                // What opening would change in the file is changed in the fork alone.
                let session = NewSession { id: "", cwd: "", parent: None };
                let (from, action) = TranscriptFile::resume(Some(&text), "", session, stamp);
                if matches!(action, OnOpen::SetAside { .. }) {
                    return Err(no_source().into());
                }
                Ok(match how {
                    Fork::At(leaf) => fork::branch_off(&from, &source, leaf, stamp)?,
                    Fork::Leaf | Fork::Whole { .. } => fork::thread(&from, &source, stamp),
                })
            })?;
            let new = self.folder.join(&made.name);
            if Draft::write(disk, &new, made.text.as_bytes())?.claim()? {
                if let Err(error) = sync_parent(disk, &new) {
                    let _ = disk.remove(&new);
                    return Err(error);
                }
                return Ok(TranscriptId::of_file(&made.name)?);
            }
        }
    }

    /// Keeps the last lines only, and the whole under another name.
    pub fn compact_blocking(&self, id: &TranscriptId, keep: MaxLines) -> Result<Compacted, StoreError> {
        if Conversation::at(&self.path(id))?.is_none() {
            return Ok(Compacted::Missing);
        }
        let (path, _lock) = self.locked(id)?;
        let Some(conversation) = Conversation::at(&path)? else { return Ok(Compacted::Missing) };
        let bytes = conversation.text.all().doing("read", &path)?;
        match compact(&lossy(&bytes), keep) {
            LineCompaction::Untouched { kept } => Ok(Compacted::Untouched { kept }),
            // Before the first answer there is no file to be shortened.
            LineCompaction::Compacted { .. } if conversation.has_pending_lines() => {
                let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
                Ok(Compacted::Untouched { kept: lines.count() })
            }
            LineCompaction::Compacted { text, kept } => {
                let name = self.archive_name(&path, ArchiveReason::Backup);
                let archived = self.replace(&path, text.as_bytes(), Some(&name))?.unwrap_or(name);
                Ok(Compacted::Done { kept, archived: file_name_of(&archived) })
            }
        }
    }

    /// Puts a conversation away, with its metadata; the name that its file has then.
    pub fn archive_blocking(
        &self,
        id: &TranscriptId,
        reason: ArchiveReason,
    ) -> Result<Option<String>, StoreError> {
        let metadata = self.metadata_path(id).filter(|path| path.symlink_metadata().is_ok());
        if Conversation::at(&self.path(id))?.is_none() && metadata.is_none() {
            return Ok(None);
        }
        let (path, lock) = self.locked(id)?;
        let disk = &*self.settings.disk;
        let away = match &metadata {
            Some(metadata) => Some(put_away(disk, metadata, &self.archive_name(metadata, reason))?),
            None => None,
        };
        let archived = self.put_away_conversation(&path, lock, reason).inspect_err(|_| {
            if let (Some(metadata), Some(away)) = (&metadata, &away) {
                let _ = disk.rename_new(away, metadata);
            }
        })?;
        sync_parent(disk, &path)?;
        Ok(archived.map(|archived| file_name_of(&archived)))
    }

    fn put_away_conversation(
        &self,
        path: &Path,
        lock: TranscriptLock,
        reason: ArchiveReason,
    ) -> Result<Option<PathBuf>, StoreError> {
        let Settings { disk, clock, .. } = self.settings.clone();
        let Some(conversation) = Conversation::at(path)? else { return Ok(None) };
        let name = self.archive_name(path, reason);
        let journal = beside(path, ".journal");
        if !conversation.has_file() {
            // The journal is exactly what the file would have been.
            return put_away(&*disk, &journal, &name).map(Some);
        }
        let mut pen = Pen::new(disk.clone(), clock, path.to_owned(), lock, false)?;
        if conversation.has_pending_lines() {
            // They must not stay behind, nor be gone if the rest of this fails.
            pen.write(&Write::File(conversation.pending))?;
        }
        if journal.symlink_metadata().is_ok() {
            disk.remove(&journal).doing("remove", &journal)?;
        }
        put_away(&*disk, path, &name).map(Some)
    }

    fn path(&self, id: &TranscriptId) -> PathBuf {
        self.folder.join(id.file_name())
    }

    /// What a file is called when it is put away now.
    fn archive_name(&self, path: &Path, reason: ArchiveReason) -> PathBuf {
        path.with_file_name(file_name::archive(&file_name_of(path), reason, self.settings.clock.now()))
    }

    /// Does something with the time and fresh ids.
    fn stamped<T>(&self, act: impl FnOnce(&mut Stamp<'_>) -> T) -> T {
        let mut fresh_id = || Uuid::new_v4().to_string();
        act(&mut Stamp { now: self.settings.clock.now(), fresh_id: &mut fresh_id })
    }
}

fn file_name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
