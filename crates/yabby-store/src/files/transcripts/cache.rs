//! The transcripts that were written last, so that the next message need not read them again.
//!
//! A transcript is taken out while somebody writes it, and is good only for the very file that it was read from or
//! written to.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use indexmap::IndexMap;
use yabby_domain::transcript::file::TranscriptFile;

use crate::file_state::FileState;

/// One conversation that goes on for long is what this is for.
const MAX_FILE_BYTES: u64 = 12 * 1024 * 1024;
/// The files together, without the one that was used last: many conversations at once must not take ever more memory
/// while they grow.
const MAX_OTHER_BYTES: u64 = 128 * 1024;
/// Shorter files are read again, which takes no time.
const MIN_BYTES: u64 = 16 * 1024;

#[derive(Default)]
pub(super) struct TranscriptCache {
    /// The one that was used last at the end. Shared, since all copies of a folder use it.
    files: Mutex<IndexMap<PathBuf, CachedFile>>,
}

struct CachedFile {
    state: FileState,
    file: TranscriptFile,
}

impl TranscriptCache {
    /// What was kept of a file, if it is still that file.
    pub(super) fn take(&self, path: &Path, state: FileState) -> Option<TranscriptFile> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.shift_remove(path).filter(|cached| cached.state == state).map(|cached| cached.file)
    }

    pub(super) fn keep(&self, path: &Path, state: FileState, file: TranscriptFile) {
        if !(MIN_BYTES..=MAX_FILE_BYTES).contains(&state.size()) {
            return;
        }
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.shift_remove(path);
        files.insert(path.to_owned(), CachedFile { state, file });
        let mut others: u64 = files.values().rev().skip(1).map(|cached| cached.state.size()).sum();
        while others > MAX_OTHER_BYTES {
            let Some((_, oldest)) = files.shift_remove_index(0) else { return };
            others -= oldest.state.size();
        }
    }
}
