//! How a file looks from outside.

use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Enough of a file to see that it was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FileState {
    Missing,
    There { inode: u64, size: u64, modified_ns: i128, changed_ns: i128 },
}

impl FileState {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        match path.metadata() {
            Ok(metadata) => Ok(Self::There {
                inode: metadata.ino(),
                size: metadata.size(),
                modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
                changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Missing),
            Err(error) => Err(error),
        }
    }

    /// The same; a file that cannot be looked at is as good as missing.
    pub(crate) fn of_readable(path: &Path) -> Self {
        Self::of(path).unwrap_or(Self::Missing)
    }

    /// Whether nothing happened to it for so long, by the clock of this machine.
    pub(crate) fn is_older_than(self, time: Duration) -> bool {
        let Self::There { changed_ns, .. } = self else { return true };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let age = i128::try_from(now.as_nanos()).unwrap_or_default() - changed_ns;
        age > i128::try_from(time.as_nanos()).unwrap_or(i128::MAX)
    }

    pub(crate) fn size(self) -> u64 {
        match self {
            Self::Missing => 0,
            Self::There { size, .. } => size,
        }
    }

    pub(crate) fn modified(self) -> Option<f64> {
        match self {
            Self::Missing => None,
            #[expect(clippy::cast_precision_loss, reason = "equal times stay equal")]
            Self::There { modified_ns, .. } => Some(modified_ns as f64),
        }
    }
}

impl fmt::Display for FileState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("none"),
            // Without the time of the change: renaming a file sets it.
            Self::There { inode, size, modified_ns, .. } => write!(f, "{inode}-{size}-{modified_ns}"),
        }
    }
}

fn nanoseconds(seconds: i64, rest: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(rest)
}
