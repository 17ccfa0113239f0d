//! Doing something about what was found.
//!
//! Every step stands for itself and leaves whole files behind, so that a repair that is interrupted can be
//! begun again at any time. Whatever fails is told, and the rest goes on.

mod drafts;
mod orphans;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use yabby_domain::json::Value;
use yabby_domain::seam::{Change, StoreError};
use yabby_domain::session::entry::Patch;
use yabby_domain::session::key::SessionKey;

use super::config_paths::MovedPath;
use super::examination::{LeftLock, Mode, Patient, Plan, Round, counted};
use super::proof::{Backup, Inventory, Proof};
use super::wards::wards;
use super::{Doctor, Examination, Finding, Progress, backup, other_files};
use crate::config_file::Snapshot;
use crate::config_file::edit::{ConfigFile, Edit, EditError};
use crate::disk::{Doing, beside, parent, shown};
use crate::files::sessions::{SessionFile, free_lock, mend};
use crate::files::transcripts::TranscriptFolder;
use crate::files::{sessions, transcripts};

/// What was done.
#[derive(Debug)]
pub struct Treatment {
    /// What had been found.
    pub before: Vec<Finding>,
    /// Where the copies of everything that was touched are; `None` if nothing had to be.
    pub backup: Option<PathBuf>,
    pub fixed: Vec<Done>,
    /// What could not be done, and why.
    pub failed: Vec<Done>,
    /// What is found now.
    pub after: Examination,
    pub proof: Proof,
}

impl Treatment {
    /// Whether everything is whole now, and nothing is missing.
    pub fn is_ok(&self) -> bool {
        self.after.is_ok() && self.failed.is_empty() && self.proof.holds()
    }
}

/// Something that was done to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    pub path: PathBuf,
    pub what: String,
    /// Files beside it that hold what is no longer in it.
    pub kept: Vec<PathBuf>,
}

/// What was swept up of killed processes.
#[derive(Debug)]
pub struct Sweep {
    pub removed: Vec<Done>,
    /// What could not be removed, and why.
    pub failed: Vec<Done>,
}

impl Doctor {
    /// Repairs what an examination found. An error means that there could be no backup, and that nothing
    /// was changed.
    pub fn repair(
        &self,
        before: Examination,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Treatment, StoreError> {
        let is_fixable = before.is_fixable();
        let told = before.findings.clone();
        let (before, opened) = self.open_to_owner(before, progress);
        let plan = &before.plan;
        let inventory = Inventory::take(plan);
        let mut work = Work { doctor: self, plan, fixed: Vec::new(), failed: Vec::new() };
        let backup = match is_fixable.then(|| backup::make(self, plan)).transpose() {
            Ok(backup) => backup,
            Err(error) => {
                self.close_again(&opened);
                return Err(error);
            }
        };
        if backup.is_some() {
            work.set_modes();
            work.mend_config();
            work.correct_config_paths();
            work.free_locks();
            work.mend_stores();
            work.sweep_drafts();
            work.mend_transcripts(progress);
            work.change_records();
        }
        let Work { fixed, failed, .. } = work;
        let after = self.examine(progress);
        let state = self.place.folder.path();
        let copies = backup.as_deref().map(|folder| Backup { state, folder });
        let proof = inventory.check(&after.plan, copies.as_ref());
        Ok(Treatment { before: told, backup, fixed, failed, after, proof })
    }

    /// Removes the locks and drafts that killed processes left behind, and nothing else. What a draft of sessions
    /// holds and its file does not is kept under a name of its own. May be done while a gateway is at work.
    pub fn sweep(&self) -> Sweep {
        let mut no_progress = |_: Progress<'_>| {};
        let mut round = Round::new(self, &mut no_progress);
        let config = Snapshot::read(&self.place).config;
        for ward in wards(&mut round, &config) {
            let files = ward.list(&mut round);
            round.examine_locks(&ward, &files);
        }
        other_files::examine_drafts(&mut round);
        let plan = round.plan;
        let mut work = Work { doctor: self, plan: &plan, fixed: Vec::new(), failed: Vec::new() };
        work.free_locks();
        work.sweep_drafts();
        Sweep { removed: work.fixed, failed: work.failed }
    }

    /// Gives the owner what is closed to them, and looks again: what cannot be read can neither be copied
    /// nor mended. The plan that comes back has these modes as they were, for the backup and the report.
    fn open_to_owner(
        &self,
        before: Examination,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> (Examination, Vec<Mode>) {
        let mut examination = before;
        let mut tried = BTreeSet::<PathBuf>::new();
        let mut opened = Vec::<Mode>::new();
        // Behind a folder that is opened there may be more that is closed.
        loop {
            let closed = examination.plan.modes.iter().filter(|mode| mode.is_closed());
            let closed: Vec<Mode> = closed.filter(|mode| tried.insert(mode.path.clone())).cloned().collect();
            if closed.is_empty() {
                break;
            }
            // What fails here is tried again with all other modes, and told then.
            let is_done = |mode: &Mode| self.disk.set_mode(&mode.path, mode.opened()).is_ok();
            opened.extend(closed.into_iter().filter(is_done));
            examination = self.examine(progress);
        }
        let mut before: BTreeMap<&Path, &Mode> =
            opened.iter().map(|mode| (mode.path.as_path(), mode)).collect();
        for mode in &mut examination.plan.modes {
            mode.was = before.remove(mode.path.as_path()).map_or(mode.was, |before| before.was);
        }
        let only_opened = before.into_values().map(|mode| Mode { wanted: mode.opened(), ..mode.clone() });
        examination.plan.modes.extend(only_opened);
        (examination, opened)
    }

    /// Takes back what [`Self::open_to_owner`] did, what is inside of a folder first.
    fn close_again(&self, opened: &[Mode]) {
        for mode in opened.iter().rev() {
            // The owner may do more than before; that is no reason to hide why there was no repair.
            let _ = self.disk.set_mode(&mode.path, mode.was);
        }
    }

    fn transcript_folder(&self, folder: &Path) -> TranscriptFolder {
        /// Whoever held a file when it was examined was left alone; anybody else is quick.
        const PATIENCE: Duration = Duration::from_secs(3);
        let settings = transcripts::Settings {
            disk: self.disk.clone(),
            clock: self.clock.clone(),
            lock_timeout: PATIENCE,
        };
        TranscriptFolder::open_with(folder, settings)
    }

    fn session_file(&self, store: &Path) -> Result<SessionFile, StoreError> {
        let settings = sessions::Settings {
            disk: self.disk.clone(),
            clock: self.clock.clone(),
            cache_ms: 0.0,
            // It is written when everything is in the journal.
            follow_after: Duration::from_secs(3600),
        };
        SessionFile::open(store, settings)
    }
}

struct Work<'w> {
    doctor: &'w Doctor,
    plan: &'w Plan,
    fixed: Vec<Done>,
    failed: Vec<Done>,
}

impl Work<'_> {
    fn done(&mut self, path: &Path, what: impl Into<String>, kept: Vec<PathBuf>) {
        self.fixed.push(Done { path: path.to_owned(), what: what.into(), kept });
    }

    fn failed(&mut self, path: &Path, error: &StoreError) {
        self.failed.push(Done { path: path.to_owned(), what: format!("{error}."), kept: Vec::new() });
    }

    /// Told once a folder: there may be thousands of files.
    fn set_modes(&mut self) {
        let mut changed = BTreeMap::<&Path, Vec<&Mode>>::new();
        for mode in &self.plan.modes {
            match self.doctor.disk.set_mode(&mode.path, mode.wanted).doing("close", &mode.path) {
                Ok(()) => changed.entry(parent(&mode.path)).or_default().push(mode),
                Err(error) => self.failed(&mode.path, &error),
            }
        }
        for (folder, modes) in changed {
            if let [mode] = modes.as_slice() {
                let what = format!("Its mode is {:04o} now; it was {:04o}.", mode.wanted, mode.was);
                self.done(&mode.path, what, Vec::new());
            } else {
                self.done(folder, format!("{} of its files have other modes now.", modes.len()), Vec::new());
            }
        }
    }

    fn mend_config(&mut self) {
        let Some(path) = &self.plan.config else { return };
        let Doctor { place, disk, clock, .. } = self.doctor;
        match ConfigFile::with(place, disk.clone(), clock.clone()).repair() {
            Ok(None) => {}
            Ok(Some(repaired)) => {
                let commented = repaired.commented.iter().map(|key| format!("{key} is a comment now."));
                let what: Vec<String> = repaired.migrated.iter().cloned().chain(commented).collect();
                self.done(path, what.join(" "), vec![beside(path, ".bak")]);
            }
            Err(EditError::Store(error)) => self.failed(path, &error),
            Err(error) => {
                self.failed.push(Done { path: path.clone(), what: format!("{error}."), kept: Vec::new() });
            }
        }
    }

    fn correct_config_paths(&mut self) {
        let Doctor { place, disk, clock, .. } = self.doctor;
        let paths = &self.plan.config_paths;
        if paths.is_empty() {
            return;
        }
        let edit = |moved: &MovedPath| (moved.setting.clone(), Edit::Set(moved.path.as_str().into()));
        let edits: Vec<_> = paths.iter().map(edit).collect();
        match ConfigFile::with(place, disk.clone(), clock.clone()).edit_all(&edits) {
            Ok(_) => {
                let told = |moved: &MovedPath| {
                    format!("{} is {} now.", moved.setting.segments().join("."), moved.path)
                };
                let what: Vec<String> = paths.iter().map(told).collect();
                self.done(&place.config, what.join(" "), vec![beside(&place.config, ".bak")]);
            }
            Err(EditError::Store(error)) => self.failed(&place.config, &error),
            Err(error) => {
                let what = format!("{error}.");
                self.failed.push(Done { path: place.config.clone(), what, kept: Vec::new() });
            }
        }
    }

    fn free_locks(&mut self) {
        for (lock, left) in &self.plan.locks {
            let freed = match left {
                LeftLock::OfStore(store) => free_lock(&self.doctor.disk, &*self.doctor.clock, store),
                LeftLock::OfTranscript(folder, id) => {
                    self.doctor.transcript_folder(folder).free_lock_blocking(id)
                }
            };
            match freed {
                Ok(()) => self.done(lock, "Nobody held it; it was removed.", Vec::new()),
                Err(error) => self.failed(lock, &error),
            }
        }
    }

    fn mend_stores(&mut self) {
        for store in self.plan.stores.iter().collect::<BTreeSet<_>>() {
            match mend(&self.doctor.disk, &*self.doctor.clock, store) {
                Ok(mended) => {
                    if let Some((count, kept)) = mended.store {
                        self.done(
                            store,
                            format!("It was written anew with {}.", counted(count, "record", "records")),
                            vec![kept],
                        );
                    }
                    if let Some(kept) = mended.journal {
                        self.done(
                            store,
                            "Its journal was written anew without lines that are none of ours.",
                            vec![kept],
                        );
                    }
                }
                Err(error) => self.failed(store, &error),
            }
        }
    }

    fn mend_transcripts(&mut self, progress: &mut dyn FnMut(Progress<'_>)) {
        let home = shown(&self.doctor.place.home);
        let all = self.plan.transcripts.len();
        for (done, Patient { folder, id, session }) in self.plan.transcripts.iter().enumerate() {
            progress(Progress { what: "repairs", done, all });
            let path = folder.join(id.file_name());
            match self.doctor.transcript_folder(folder).mend_blocking(id, session, &home) {
                Ok(mended) if mended.done.is_empty() && mended.kept.is_empty() => {}
                Ok(mended) => {
                    let what = format!("It was mended: {}.", mended.done.join("; "));
                    self.done(&path, what, mended.kept);
                }
                Err(error) => self.failed(&path, &error),
            }
        }
    }

    /// Makes records for orphans, corrects those that name a wrong file, and brings the stores up to date.
    fn change_records(&mut self) {
        for store in self.plan.changed_stores() {
            if let Err(error) = self.change_records_of(store) {
                self.failed(store, &error);
            }
        }
    }

    fn change_records_of(&mut self, store: &Path) -> Result<(), StoreError> {
        let file = self.doctor.session_file(store)?;
        let recovered = self.recovered_records(store, &file)?;
        let mut changes = Vec::<(SessionKey, Change)>::new();
        for recovered in &recovered {
            let entry = recovered.entry.clone();
            let change: Change = Box::new(move |record| {
                record.get_or_insert(entry);
            });
            changes.push((SessionKey::new(recovered.key.as_str()), change));
        }
        let moved = self.plan.moved.iter().filter(|moved| moved.store == store);
        for moved in moved.clone() {
            let mut patch = Patch::default();
            patch.put("sessionFile", Some(Value::from(shown(&moved.file))));
            let new_state = shown(self.doctor.place.folder.path());
            let old_state = moved.old_state.clone();
            let change: Change = Box::new(move |record| {
                let Some(record) = record else { return };
                if let Some(old_state) = &old_state {
                    for field in FIELDS_WITH_PATHS {
                        let moved = record.get(field).map(|value| with_folder(value, old_state, &new_state));
                        if let Some(moved) = moved {
                            patch.put(field, Some(moved));
                        }
                    }
                }
                record.apply(&patch);
            });
            changes.push((SessionKey::new(moved.key.as_str()), change));
        }
        // Whoever writes a store also sweeps up its journal, so something is written in any case.
        changes.push((SessionKey::global(), Box::new(|_| {})));
        file.update_all_blocking(changes)?;
        file.flush()?;
        drop(file);
        for recovered in recovered {
            self.done(&recovered.file, format!("It is the session {} now.", recovered.key), Vec::new());
        }
        for moved in moved {
            self.done(store, format!("{} names {} now.", moved.key, moved.file.display()), Vec::new());
        }
        if self.plan.folds.iter().any(|fold| fold == store) {
            self.done(store, "It holds everything that its journal held.", Vec::new());
        }
        Ok(())
    }
}

/// What the programs note in a record about the files of a workspace.
const FIELDS_WITH_PATHS: [&str; 2] = ["skillsSnapshot", "systemPromptReport"];

/// A value in which paths below one folder are below another.
fn with_folder(value: &Value, old: &str, new: &str) -> Value {
    match value {
        Value::String(text) => text.replace(&format!("{old}/"), &format!("{new}/")).into(),
        Value::Array(values) => values.iter().map(|value| with_folder(value, old, new)).collect(),
        Value::Object(fields) => {
            let moved = |(name, value): (&String, &Value)| (name.clone(), with_folder(value, old, new));
            Value::Object(fields.iter().map(moved).collect())
        }
        other => other.clone(),
    }
}
