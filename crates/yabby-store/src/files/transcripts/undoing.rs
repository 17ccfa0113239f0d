//! Undoing compactions: summaries (`transcripts.md` §6) and dropped lines (§7.8).

use std::path::{Path, PathBuf};

use yabby_domain::seam::{Begin, ContextSize, StoreError, UndoneCompaction};
use yabby_domain::text::lossy;
use yabby_domain::transcript::Transcript;
use yabby_domain::transcript::file_name::{TranscriptId, session_in};
use yabby_domain::transcript::line_compact::{RestoredFile, restore};
use yabby_domain::transcript::undo::{is_last_compaction, undo_compaction};

use super::lock::TranscriptLock;
use super::reading::Conversation;
use super::{TranscriptFolder, file_name_of};
use crate::disk::{Doing, beside};
use crate::files::atomic::sync_parent;
use crate::files::folder::open_inside;

impl TranscriptFolder {
    /// Undoes the last compaction, of either kind. Nothing is deleted: the backup of a line compaction stays.
    pub fn undo_compaction_blocking(&self, id: &TranscriptId) -> Result<UndoneCompaction, StoreError> {
        // Locking would create the folder.
        if Conversation::at(&self.path(id))?.is_none() {
            return Ok(UndoneCompaction::Missing);
        }
        let (path, lock) = self.locked(id)?;
        let Some(conversation) = Conversation::at(&path)? else { return Ok(UndoneCompaction::Missing) };
        let bytes = conversation.text.all().doing("read", &path)?;
        let text = lossy(&bytes);
        let is_last = |lines: &RestoredFile| {
            Transcript::read(&text).is_none_or(|transcript| is_last_compaction(lines, &transcript))
        };
        match self.dropped_lines(&path, &text)? {
            Some((backup, lines)) if is_last(&lines) => {
                let read = bytes.len() - conversation.pending.len();
                self.put_lines_back(&path, &lines, read)?;
                drop(lock);
                let context = Transcript::read(&lines.text).map(|whole| ContextSize::measure(&whole));
                Ok(UndoneCompaction::Lines {
                    restored: lines.restored,
                    backup: file_name_of(&backup),
                    context: context.unwrap_or(ContextSize { messages: 0, tokens: 0 }),
                })
            }
            _ => self.undo_summary(id, path, lock),
        }
    }

    /// The newest backup of a line compaction that has entries which the file lacks.
    fn dropped_lines(&self, path: &Path, text: &str) -> Result<Option<(PathBuf, RestoredFile)>, StoreError> {
        let folder = path.parent().unwrap_or(&self.folder);
        let prefix = format!("{}.bak.", file_name_of(path));
        let mut backups = Vec::new();
        for file in folder.read_dir().doing("list", folder)? {
            let name = file.doing("list", folder)?.file_name().to_string_lossy().into_owned();
            if name.starts_with(&prefix) {
                backups.push(name);
            }
        }
        // The names end in the time.
        backups.sort_unstable_by(|one, other| other.cmp(one));
        for backup in backups.into_iter().map(|name| folder.join(name)) {
            let Some(conversation) = Conversation::at(&backup)? else { continue };
            let whole = conversation.text.all().doing("read", &backup)?;
            if let Some(lines) = self.stamped(|stamp| restore(text, &lossy(&whole), stamp)) {
                return Ok(Some((backup, lines)));
            }
        }
        Ok(None)
    }

    /// Replaces the file in one step; `read` is how much of it was read.
    fn put_lines_back(&self, path: &Path, lines: &RestoredFile, read: usize) -> Result<(), StoreError> {
        let original = open_inside(path)?;
        self.replace(path, lines.text.as_bytes(), None)?;
        self.take_over_latecomers(path, original.as_ref(), read)?;
        // What only the journal held is in the file now.
        let journal = beside(path, ".journal");
        if journal.symlink_metadata().is_ok() {
            self.settings.disk.remove(&journal).doing("remove", &journal)?;
            sync_parent(&*self.settings.disk, path)?;
        }
        Ok(())
    }

    fn undo_summary(
        &self,
        id: &TranscriptId,
        path: PathBuf,
        lock: TranscriptLock,
    ) -> Result<UndoneCompaction, StoreError> {
        let session_id = session_in(id.as_str()).to_owned();
        let begin = Begin { session_id, cwd: String::new(), parent: None };
        let mut writer = self.open_locked(path, lock, &begin)?;
        // Of a long conversation a writer knows the end only.
        writer.load_whole()?;
        let Some(plan) = undo_compaction(writer.transcript()) else { return Ok(UndoneCompaction::Nothing) };
        writer.move_leaf(plan.leaf.as_deref())?;
        let ids = writer.append(plan.entries.clone())?;
        let labels = plan.labels(&ids);
        if !labels.is_empty() {
            writer.append(labels)?;
        }
        let context = ContextSize::measure(writer.transcript());
        Ok(UndoneCompaction::Summary { copied: plan.copied(), compaction: plan.compaction, context })
    }
}
