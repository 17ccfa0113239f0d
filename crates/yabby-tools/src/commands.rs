//! Commands that the agent runs: how they are kept, and found again (`docs/formats/command-record.md`).
//!
//! Every command has a keeper, a process of its own ([`keeper`]), and a folder with what the keeper writes:
//! the record ([`record`]) and the output ([`output`]). Whoever knows the folder can look after the command,
//! also after the program that began it is gone.

pub(crate) mod control;
pub(crate) mod group;
pub(crate) mod job;
pub(crate) mod keeper;
pub(crate) mod output;
pub(crate) mod processes;
pub(crate) mod record;
pub(crate) mod system_calls;
pub(crate) mod umask;
pub(crate) mod walls;

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use record::{End, Record};

/// The folder of all commands.
#[derive(Clone, Debug)]
pub(crate) struct Shelf(PathBuf);

/// The folder of one.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) id: String,
    pub(crate) folder: PathBuf,
}

impl Shelf {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// A folder for a new command.
    pub(crate) fn begin(&self) -> io::Result<Kept> {
        private_folder(&self.0, true)?;
        loop {
            let id = uuid::Uuid::new_v4().simple().to_string()[..12].to_owned();
            let folder = self.0.join(&id);
            match private_folder(&folder, false) {
                Ok(()) => return Ok(Kept { id, folder }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The command of that name, if there is one. The name is one of ours, or nothing is looked up.
    pub(crate) fn get(&self, id: &str) -> Option<Kept> {
        let is_ours = id.len() == 12 && id.chars().all(|c| c.is_ascii_hexdigit());
        let folder = self.0.join(id);
        (is_ours && folder.is_dir()).then(|| Kept { id: id.to_owned(), folder })
    }

    /// All that have a record, the one that began first first.
    pub(crate) fn all(&self) -> Vec<(Kept, Record)> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let kept = entries.filter_map(|entry| self.get(entry.file_name().to_str()?));
        let mut all: Vec<(Kept, Record)> =
            kept.filter_map(|kept| Some((kept.record()?, kept))).map(|(r, k)| (k, r)).collect();
        all.sort_by(|one, other| one.1.started_at.cmp(&other.1.started_at).then(one.0.id.cmp(&other.0.id)));
        all
    }

    /// Removes what ended so long ago that nobody asks for it any more.
    pub(crate) fn tidy(&self, now: i64, keep_for: i64) {
        for (kept, record) in self.all() {
            match record.ended_at {
                Some(ended) if now.saturating_sub(ended) > keep_for => kept.remove(),
                None if !record.is_running() => drop(kept.ended()),
                Some(_) | None => {}
            }
        }
    }
}

impl Kept {
    pub(crate) fn record(&self) -> Option<Record> {
        Record::read(&self.folder)
    }

    /// The record of a command that has no keeper any more. If that was killed, so is what it kept.
    pub(crate) fn ended(&self) -> Record {
        let mut record = self.record().unwrap_or_default();
        if record.ended_at.is_none() {
            processes::end_strays(record.pid, record.pid_started, &self.id);
            record.end = Some(End::Lost);
            record.ended_at = Some(jiff::Timestamp::now().as_millisecond());
            // Whoever looks next does the same again.
            let _ = record.write(&self.folder);
        }
        record
    }

    pub(crate) fn remove(&self) {
        // What cannot be removed now is removed with the next command.
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// How much of the output was told already.
    pub(crate) fn told(&self) -> u64 {
        let told = fs::read_to_string(self.folder.join("told")).ok();
        told.and_then(|told| told.trim().parse().ok()).unwrap_or(0)
    }

    pub(crate) fn set_told(&self, position: u64) {
        // Told twice is better than not at all.
        let _ = fs::write(self.folder.join("told"), position.to_string());
    }

    /// Whether the end was announced; from now on it was.
    pub(crate) fn announce(&self) -> bool {
        let marked = fs::OpenOptions::new().write(true).create_new(true).open(self.folder.join("announced"));
        marked.is_ok()
    }
}

fn private_folder(path: &Path, recursive: bool) -> io::Result<()> {
    fs::DirBuilder::new().recursive(recursive).mode(0o700).create(path)
}
