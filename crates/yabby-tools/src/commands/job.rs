//! What a keeper is to do, as it is told on its first line of input.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The word that makes a program the keeper of a command.
pub const KEEP_COMMAND: &str = "keep-command";

/// Said on the keeper's input: the command goes on without whoever began it.
pub(crate) const BACKGROUND: &str = "background";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) folder: PathBuf,
    /// As the agent wrote it.
    pub(crate) command: String,
    /// As the shell is given it.
    pub(crate) script: String,
    pub(crate) cwd: PathBuf,
    pub(crate) agent: String,
    pub(crate) session_key: String,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) timeout_ms: u64,
    pub(crate) background: bool,
    pub(crate) walls: Walls,
    /// What the files that the command makes leave out, as the program found it; see [`super::umask`].
    pub(crate) umask: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Walls {
    None,
    Bubblewrap(Inside),
    Landlock(Inside),
}

/// What there is between the walls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Inside {
    /// Folders that can be written, under their own names.
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) has_network: bool,
    pub(crate) processes: u64,
    pub(crate) memory: u64,
    pub(crate) file_size: u64,
    pub(crate) open_files: u64,
}

impl Walls {
    pub(crate) fn inside(&self) -> Option<&Inside> {
        match self {
            Self::None => None,
            Self::Bubblewrap(inside) | Self::Landlock(inside) => Some(inside),
        }
    }

    pub(crate) fn name(&self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Bubblewrap(_) => Some("bubblewrap"),
            Self::Landlock(_) => Some("landlock"),
        }
    }
}
