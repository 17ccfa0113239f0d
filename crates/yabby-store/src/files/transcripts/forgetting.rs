//! Taking words out of a conversation for good: no copy of them is kept.

use std::path::Path;

use yabby_domain::seam::StoreError;
use yabby_domain::text::lossy;
use yabby_domain::transcript::entry::Entry;
use yabby_domain::transcript::file_name::TranscriptId;

use super::TranscriptFolder;
use super::reading::Found;
use crate::disk::beside;
use crate::files::folder::open_inside;

impl TranscriptFolder {
    /// Puts other lines in the place of those that `other` has one for, in the file of a conversation and in
    /// its journal, while nobody writes it; how many. Every other line stays byte for byte.
    pub fn forget_blocking(
        &self,
        id: &TranscriptId,
        other: &mut dyn FnMut(&Entry) -> Option<String>,
    ) -> Result<usize, StoreError> {
        if open_inside(&self.path(id))?.is_none()
            && open_inside(&beside(&self.path(id), ".journal"))?.is_none()
        {
            return Ok(0);
        }
        let (path, _lock) = self.locked(id)?;
        let original = open_inside(&path)?;
        let found = Found::at(&path)?;
        let mut count = 0;
        if let Some(bytes) = &found.bytes
            && self.rewrite(&path, bytes, other, &mut count)?
        {
            self.take_over_latecomers(&path, original.as_ref(), bytes.len())?;
        }
        self.rewrite(&beside(&path, ".journal"), &found.journal, other, &mut count)?;
        Ok(count)
    }

    /// Whether something was rewritten.
    fn rewrite(
        &self,
        path: &Path,
        bytes: &[u8],
        other: &mut dyn FnMut(&Entry) -> Option<String>,
        count: &mut usize,
    ) -> Result<bool, StoreError> {
        let before = *count;
        let mut text = Vec::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match Entry::parse(&lossy(line)).and_then(|entry| other(&entry)) {
                Some(new) => {
                    text.extend_from_slice(new.as_bytes());
                    text.extend(line.ends_with(b"\n").then_some(b'\n'));
                    *count += 1;
                }
                None => text.extend_from_slice(line),
            }
        }
        if *count > before {
            self.replace(path, &text, None)?;
        }
        Ok(*count > before)
    }
}
