//! The log file: where it is, and its last lines (`gateway.md` §7, `logs.tail`).

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use yabby_domain::config::Config;
use yabby_domain::session::path::user_path;
use yabby_domain::text::{self, lossy};
use yabby_store::paths::Place;

/// Where the log is: where `logging.file` says, else in the folder.
pub fn log_file(config: &Config, place: &Place) -> PathBuf {
    let named = config.logging.file.as_deref().and_then(text::non_blank);
    match named {
        Some(named) => place.with_folders(|folders| user_path(named, folders.home, folders.current)).into(),
        None => place.folder.path().join("logs").join("yabby.log"),
    }
}

/// A part of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slice {
    /// Where the next part begins, which is the end of the file.
    pub(crate) size: u64,
    pub(crate) lines: Vec<String>,
    /// Lines before these were left out.
    pub(crate) truncated: bool,
    /// The file is not the one that the cursor is about, or too much was written since.
    pub(crate) reset: bool,
}

/// What was written since the cursor, or the end of the file without one.
pub(crate) fn slice(file: &Path, cursor: Option<u64>, limit: usize, max_bytes: u64) -> io::Result<Slice> {
    let mut file = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Slice::default()),
        opened => opened?,
    };
    let size = file.metadata()?.len();
    let tail = size.saturating_sub(max_bytes);
    let (start, truncated, reset) = match cursor {
        None => (tail, tail > 0, false),
        Some(cursor) if cursor > size => (tail, tail > 0, true),
        Some(cursor) if size - cursor > max_bytes => (tail, true, true),
        Some(cursor) => (cursor, false, false),
    };
    // Whether a line begins here says what comes before it.
    let before = start.saturating_sub(1);
    file.seek(SeekFrom::Start(before))?;
    let mut bytes = Vec::new();
    file.take(size - before).read_to_end(&mut bytes)?;
    let mut lines: Vec<String> = match start {
        0 => lossy(&bytes).split('\n').map(str::to_owned).collect(),
        _ => match bytes.split_first() {
            Some((b'\n', rest)) => lossy(rest).split('\n').map(str::to_owned).collect(),
            Some((_, rest)) => lossy(rest).split('\n').skip(1).map(str::to_owned).collect(),
            None => Vec::new(),
        },
    };
    if lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.drain(..lines.len().saturating_sub(limit));
    Ok(Slice { size, lines, truncated, reset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_from_where_somebody_left_off() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        let told = |cursor, limit, max_bytes| {
            let Slice { size, lines, truncated, reset } = slice(&file, cursor, limit, max_bytes).unwrap();
            (size, lines.join("|"), truncated, reset)
        };
        assert_eq!(told(None, 5, 100), (0, String::new(), false, false));
        std::fs::write(&file, "one\ntwo\nthree\n").unwrap();
        assert_eq!(told(None, 5, 100), (14, "one|two|three".to_owned(), false, false));
        assert_eq!(told(None, 2, 100), (14, "two|three".to_owned(), false, false));
        assert_eq!(told(None, 5, 10), (14, "two|three".to_owned(), true, false));
        assert_eq!(told(None, 5, 9), (14, "three".to_owned(), true, false));
        assert_eq!(told(Some(4), 5, 100), (14, "two|three".to_owned(), false, false));
        assert_eq!(told(Some(14), 5, 100), (14, String::new(), false, false));
        assert_eq!(told(Some(99), 5, 100), (14, "one|two|three".to_owned(), false, true));
        assert_eq!(told(Some(0), 5, 6), (14, "three".to_owned(), true, true));
    }
}
