//! Forgetting in the reference's index. Its rows are made of whole files, so what is left of a file is indexed
//! again by the next sync; what was made of the rest must be nowhere.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::chunking;
use super::files::{self, Source};
use super::store::{Parts, Store, StoreError};
use crate::settings::Settings;

/// A file that something was taken out of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub source: Source,
    /// As the index names it.
    pub path: String,
    pub file: PathBuf,
}

/// Takes everything out of an index that was made of these files as they were: chunks, words, vectors and
/// cached vectors. Chunks that did not change keep their cached vectors. Whether there is an index.
pub fn forget(settings: &Settings, workspace: &Path, changed: &[Changed]) -> Result<bool, StoreError> {
    let path = Path::new(&settings.store.path);
    if !path.exists() {
        return Ok(false);
    }
    // Whatever is configured now, there may be vectors and words from before.
    let mut store = Store::open(path, Parts { vectors: true, words: true })?;
    let mut left: HashSet<String> = HashSet::new();
    for Changed { source, path, file } in changed {
        store.remove_file(path, *source)?;
        let read = match source {
            Source::Memory => files::note(file, workspace),
            Source::Sessions => files::transcript(file),
        };
        if let Ok(document) = read {
            left.extend(
                chunking::chunks(&document.content, settings.chunking).into_iter().map(|chunk| chunk.hash),
            );
        }
    }
    store.shred(&left)?;
    Ok(true)
}
