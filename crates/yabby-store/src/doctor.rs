//! Examining a whole state folder, and repairing what is damaged in it.
//!
//! [`Doctor::examine`] only reads. [`Doctor::repair`] first keeps a copy of everything that it will touch,
//! then mends, then examines again and proves that everything that could be read before is still there.
//! Whatever a running process holds is left alone.

mod backup;
mod config;
mod config_paths;
mod examination;
mod finding;
mod locks;
mod names;
mod other_files;
mod own_files;
mod permissions;
mod proof;
mod records;
mod repair;
mod space;
mod transcripts;
mod wards;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yabby_domain::seam::Clock;

use crate::clock::SystemClock;
use crate::disk::{Disk, LocalDisk};
use crate::paths::Place;

pub use examination::{Checked, Examination};
pub use finding::{Area, Code, Finding, Severity};
pub use proof::Proof;
pub use repair::{Done, Sweep, Treatment};

/// Who examines which folder, and with what.
#[derive(Clone)]
pub struct Doctor {
    pub place: Place,
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    /// Where the folder was before it was moved, if that is known.
    pub moved_from: Option<PathBuf>,
}

/// How far it is: what is being looked at, how many are done, and of how many.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'p> {
    pub what: &'p str,
    pub done: usize,
    pub all: usize,
}

impl Doctor {
    pub fn new(place: &Place) -> Self {
        Self {
            place: place.clone(),
            disk: Arc::new(LocalDisk),
            clock: Arc::new(SystemClock),
            moved_from: None,
        }
    }

    /// For a folder that was just moved: every path of the configuration that names the old one is found.
    pub fn after_move(place: &Place, from: &Path) -> Self {
        Self { moved_from: Some(from.to_owned()), ..Self::new(place) }
    }
}
