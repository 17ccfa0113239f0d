//! Going through a state folder once, without changing anything.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use yabby_domain::transcript::file_name::TranscriptId;

use super::config_paths::MovedPath;
use super::finding::{Finding, Severity};
use super::locks::Held;
use super::records::References;
use super::wards::{Ward, wards};
use super::{Doctor, Progress, config, config_paths, other_files, own_files, permissions, space};
use crate::disk::beside;

/// What was found, and what could be done about it.
#[derive(Debug)]
pub struct Examination {
    pub folder: PathBuf,
    pub checked: Checked,
    pub findings: Vec<Finding>,
    pub(super) plan: Plan,
}

/// How much was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    pub agents: usize,
    pub stores: usize,
    pub records: usize,
    pub transcripts: usize,
    pub lines: usize,
    pub archives: usize,
    pub locks: usize,
    pub other_files: usize,
    /// What all sessions take on the disk.
    pub bytes: u64,
    /// What is left on the disk, where that is known.
    pub free: Option<u64>,
}

impl Examination {
    /// Whether nothing is damaged.
    pub fn is_ok(&self) -> bool {
        self.findings.iter().all(|finding| finding.code.severity() < Severity::Damage)
    }

    /// Whether a repair would do anything.
    pub fn is_fixable(&self) -> bool {
        self.findings.iter().any(Finding::is_fixable)
    }
}

/// What a repair would do, in its order.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The configuration, if something in it can be corrected.
    pub(super) config: Option<PathBuf>,
    /// Paths in the configuration that were right before the folder was moved.
    pub(super) config_paths: Vec<MovedPath>,
    pub(super) modes: Vec<Mode>,
    /// Locks that nobody holds.
    pub(super) locks: Vec<(PathBuf, LeftLock)>,
    /// Stores that are damaged, or whose journals are.
    pub(super) stores: Vec<PathBuf>,
    pub(super) drafts: Vec<LeftDraft>,
    pub(super) transcripts: Vec<Patient>,
    /// Records that name a file where it is not.
    pub(super) moved: Vec<Moved>,
    pub(super) orphans: Vec<Orphan>,
    /// Stores whose journals hold something.
    pub(super) folds: Vec<PathBuf>,
    /// Everything that was looked at, for the proof.
    pub(super) wards: Vec<Ward>,
}

impl Plan {
    /// Stores that get other records.
    pub(super) fn changed_stores(&self) -> BTreeSet<&PathBuf> {
        let of_orphans = self.orphans.iter().filter_map(|orphan| self.wards.get(orphan.ward));
        let of_orphans = of_orphans.map(|ward| &ward.store);
        let of_moved = self.moved.iter().map(|moved| &moved.store);
        self.folds.iter().chain(of_orphans).chain(of_moved).collect()
    }

    /// Everything that a repair may change or remove.
    pub(super) fn touched(&self) -> BTreeSet<PathBuf> {
        let mut files: BTreeSet<PathBuf> = self.config.iter().cloned().collect();
        for store in self.stores.iter().chain(self.changed_stores()) {
            files.extend(["", ".journal", ".unapplied"].map(|ending| beside(store, ending)));
            let wards = self.wards.iter().filter(|ward| ward.store_paths().contains(store));
            files.extend(wards.filter_map(|ward| ward.older_store.clone()));
        }
        for patient in &self.transcripts {
            let file = patient.folder.join(patient.id.file_name());
            files.extend(["", ".journal"].map(|ending| beside(&file, ending)));
        }
        files.extend(self.drafts.iter().map(|draft| draft.path.clone()));
        files.extend(self.locks.iter().map(|(lock, _)| lock.clone()));
        files
    }
}

#[derive(Clone, Debug)]
pub(super) struct Mode {
    pub(super) path: PathBuf,
    pub(super) was: u32,
    pub(super) wanted: u32,
}

impl Mode {
    /// What the owner is to be allowed.
    const OWNER: u32 = 0o700;

    /// Whether the owner lacks something.
    pub(super) fn is_closed(&self) -> bool {
        self.opened() != self.was
    }

    /// The mode with what the owner lacks, and nothing taken from others yet.
    pub(super) fn opened(&self) -> u32 {
        self.was | (self.wanted & Self::OWNER)
    }
}

/// A lock by what it protects.
#[derive(Clone, Debug)]
pub(super) enum LeftLock {
    OfStore(PathBuf),
    OfTranscript(PathBuf, TranscriptId),
}

impl LeftLock {
    pub(super) fn file(&self) -> PathBuf {
        match self {
            Self::OfStore(store) => store.clone(),
            Self::OfTranscript(folder, id) => folder.join(id.file_name()),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct LeftDraft {
    pub(super) path: PathBuf,
    /// What it was going to be.
    pub(super) of: PathBuf,
    /// Whether it may hold words or records that are nowhere else. A setting that was never put in its place never
    /// was in force.
    pub(super) is_of_sessions: bool,
}

/// A transcript to be mended.
#[derive(Clone, Debug)]
pub(super) struct Patient {
    pub(super) folder: PathBuf,
    pub(super) id: TranscriptId,
    /// What the session is called, by its record or by the name of the file.
    pub(super) session: String,
}

#[derive(Clone, Debug)]
pub(super) struct Moved {
    pub(super) store: PathBuf,
    pub(super) key: String,
    pub(super) file: PathBuf,
    /// Where this folder was when the record was written, if the file has kept its place in it.
    pub(super) old_state: Option<String>,
}

/// A transcript that no record speaks of.
#[derive(Clone, Debug)]
pub(super) struct Orphan {
    pub(super) ward: usize,
    pub(super) id: TranscriptId,
}

/// What is gathered on the way.
pub(super) struct Round<'d> {
    pub(super) doctor: &'d Doctor,
    pub(super) progress: &'d mut dyn FnMut(Progress<'_>),
    pub(super) checked: Checked,
    pub(super) findings: Vec<Finding>,
    pub(super) plan: Plan,
    pub(super) references: References,
    /// Files that somebody works on.
    pub(super) held: HashMap<PathBuf, Held>,
}

impl<'d> Round<'d> {
    pub(super) fn new(doctor: &'d Doctor, progress: &'d mut dyn FnMut(Progress<'_>)) -> Self {
        Self {
            doctor,
            progress,
            checked: Checked::default(),
            findings: Vec::new(),
            plan: Plan::default(),
            references: References::default(),
            held: HashMap::new(),
        }
    }

    pub(super) fn found(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    pub(super) fn tell(&mut self, what: &str, done: usize, all: usize) {
        (self.progress)(Progress { what, done, all });
    }

    /// Notes something about a file, and whether it can be repaired: not while somebody holds it.
    pub(super) fn found_unless_held(&mut self, mut finding: Finding, file: &std::path::Path) -> bool {
        finding.held_by = self.held.get(file).map(|held| held.pid);
        let is_free = finding.held_by.is_none();
        self.findings.push(finding);
        is_free
    }
}

impl Doctor {
    /// Looks at everything, and changes nothing.
    pub fn examine(&self, progress: &mut dyn FnMut(Progress<'_>)) -> Examination {
        let mut round = Round::new(self, progress);
        if space::examine(&mut round) {
            let snapshot = config::examine(&mut round);
            config_paths::examine(&mut round, &snapshot);
            let config = snapshot.config;
            permissions::examine(&mut round);
            round.plan.wards = wards(&mut round, &config);
            let wards = round.plan.wards.clone();
            // Which transcripts belong to somebody is known when all stores were read.
            let listed: Vec<_> = wards.iter().map(|ward| ward.list(&mut round)).collect();
            for (ward, files) in wards.iter().zip(&listed) {
                round.examine_records(ward, files);
            }
            for (at, (ward, files)) in wards.iter().zip(&listed).enumerate() {
                round.examine_transcripts(at, ward, files);
            }
            other_files::examine(&mut round);
            own_files::examine(&mut round);
        } else {
            config::examine(&mut round);
            permissions::examine_closed(&mut round);
        }
        let Round { checked, mut findings, plan, .. } = round;
        findings.sort_by(|one, other| {
            let order = |finding: &Finding| (finding.code.area(), std::cmp::Reverse(finding.code.severity()));
            order(one)
                .cmp(&order(other))
                .then_with(|| one.path.cmp(&other.path))
                .then_with(|| one.code.cmp(&other.code))
        });
        Examination { folder: self.place.folder.path().to_owned(), checked, findings, plan }
    }
}

/// `1 record`, `2 records`
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
