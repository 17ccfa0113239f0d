//! Making a damaged transcript whole again, while nobody writes it (`transcripts.md` §7.3, §9).

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use yabby_domain::seam::StoreError;
use yabby_domain::text::lossy;
use yabby_domain::transcript::file_name::{ArchiveReason, TranscriptId};
use yabby_domain::transcript::header::NewSession;
use yabby_domain::transcript::journal::{self, Pending};
use yabby_domain::transcript::mend::{Mend, mend};

use super::TranscriptFolder;
use super::reading::Found;
use crate::disk::{Doing, beside, write_all};
use crate::files::atomic::{Draft, sync_parent};
use crate::files::folder::open_inside;
use crate::files::keeping::{named_by_content, put_away};

/// What was done to a conversation.
#[derive(Debug, Default)]
pub(crate) struct Mended {
    /// In a few words each.
    pub(crate) done: Vec<String>,
    /// The files that hold what is no longer part of it.
    pub(crate) kept: Vec<PathBuf>,
}

impl TranscriptFolder {
    /// Mends the file of a conversation, and puts away a journal that nobody will read any more.
    /// `session` and `cwd` go into a header that has to be made.
    pub(crate) fn mend_blocking(
        &self,
        id: &TranscriptId,
        session: &str,
        cwd: &str,
    ) -> Result<Mended, StoreError> {
        let (path, _lock) = self.locked(id)?;
        let mut mended = Mended::default();
        let original = open_inside(&path)?;
        let found = Found::at(&path)?;
        let mut now = found.bytes.clone();
        if let Some(bytes) = found.bytes {
            let session = NewSession { id: session, cwd, parent: None };
            match self.stamped(|stamp| mend(&bytes, session, stamp)) {
                Mend::Nothing => {}
                Mend::PutAway => {
                    mended.kept.push(self.put_transcript_away(&path)?);
                    mended.done.push("it is no transcript, and was put away".to_owned());
                    now = None;
                }
                Mend::Replace(new) => {
                    if !new.aside.is_empty() {
                        mended.kept.push(self.set_aside(&path, &new.aside)?);
                    }
                    self.replace(&path, &new.text, None)?;
                    self.take_over_latecomers(&path, original.as_ref(), bytes.len())?;
                    mended.done.extend(new.done);
                    now = Some(new.text);
                }
            }
        }
        self.settle_journal(&path, now.as_deref(), &found.journal, &mut mended)?;
        Ok(mended)
    }

    fn put_transcript_away(&self, path: &Path) -> Result<PathBuf, StoreError> {
        let disk = &*self.settings.disk;
        let away = put_away(disk, path, &self.archive_name(path, ArchiveReason::Backup))?;
        sync_parent(disk, path)?;
        Ok(away)
    }

    /// OpenClaw appends what it mirrors without asking for the lock. What came to the original after it was
    /// read goes to the new file.
    pub(super) fn take_over_latecomers(
        &self,
        path: &Path,
        original: Option<&File>,
        was_read: usize,
    ) -> Result<(), StoreError> {
        let disk = &*self.settings.disk;
        let Some(original) = original else { return Ok(()) };
        let length = original.metadata().doing("look at", path)?.len();
        let mut late = vec![0; usize::try_from(length.saturating_sub(was_read as u64)).unwrap_or_default()];
        if late.is_empty() {
            return Ok(());
        }
        original.read_exact_at(&mut late, was_read as u64).doing("read", path)?;
        let file = disk.open_append(path).doing("open", path)?;
        write_all(disk, &file, &late).and_then(|()| disk.sync(&file)).doing("append to", path)
    }

    /// Removes the lock of a conversation if nobody holds it.
    pub(crate) fn free_lock_blocking(&self, id: &TranscriptId) -> Result<(), StoreError> {
        self.locked(id).map(drop)
    }

    /// Writes lines that have no place in a transcript beside it; the same lines only once.
    fn set_aside(&self, path: &Path, lines: &[u8]) -> Result<PathBuf, StoreError> {
        let disk = &*self.settings.disk;
        let name = named_by_content(path, lines, "set-aside");
        // Whoever has the name holds the same lines.
        Draft::write(disk, &name, lines)?.claim()?;
        sync_parent(disk, &name)?;
        Ok(name)
    }

    /// If another program has answered without what stands in the journal, it is put away.
    fn settle_journal(
        &self,
        path: &Path,
        file: Option<&[u8]>,
        lines: &[u8],
        mended: &mut Mended,
    ) -> Result<(), StoreError> {
        let disk = &*self.settings.disk;
        let journal = beside(path, ".journal");
        match journal::pending(file.map(lossy).as_deref(), &lossy(lines)) {
            Pending::Lines(_) => return Ok(()),
            Pending::Overtaken { lost: false } => disk.remove(&journal).doing("remove", &journal)?,
            Pending::Overtaken { lost: true } => {
                let away = self.archive_name(&journal, ArchiveReason::Backup);
                mended.kept.push(put_away(disk, &journal, &away)?);
                mended.done.push("its journal, which it has gone on without, was put away".to_owned());
            }
        }
        sync_parent(disk, path)
    }
}
