//! What new files leave out for others (umask). The files of the program are its owner's alone; what commands make is theirs,
//! with what the person had set.

use std::sync::OnceLock;

use rustix::fs::Mode;

static FOUND: OnceLock<u32> = OnceLock::new();

/// From now on every file and folder that this process makes is its owner's alone. To be called once, before there are
/// threads.
pub fn keep_files_private() {
    let found = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    FOUND.get_or_init(|| found.bits());
}

/// What it was before.
pub(crate) fn found() -> Option<u32> {
    FOUND.get().copied()
}

/// As a command is to have it.
pub(crate) fn restore(found: Option<u32>) {
    if let Some(found) = found {
        rustix::process::umask(Mode::from_bits_truncate(found));
    }
}
