//! Locks and drafts: of processes that are at work, and of those that are not any more (`sessions.md` §6,
//! `transcripts.md` §7.4).

use std::path::Path;

use yabby_domain::session::store_lock::{self, WhenLocked, when_locked};

use super::examination::{LeftDraft, LeftLock, Round};
use super::finding::{Code, Finding};
use super::names::Name;
use super::wards::{File, Ward};
use crate::clock::millis;
use crate::files::lock_file::Seen;
use crate::files::transcripts::{holder_of, is_held};
use crate::process;

/// Who holds a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) pid: i64,
}

/// What a lock says.
enum State {
    Held(i64),
    Stale(i64),
    /// Nobody can tell whose it is.
    Foreign,
    /// It was made just now, and may still get its text.
    Fresh,
}

impl Round<'_> {
    /// Looks at the locks of a folder, before anything that they protect.
    pub(super) fn examine_locks(&mut self, ward: &Ward, files: &[File]) {
        for file in files {
            match &file.name {
                Name::StoreLock => {
                    let state = self.store_lock(&file.path);
                    self.judge(&file.path, LeftLock::OfStore(file.path.with_extension("")), state);
                }
                Name::TranscriptLock(id) => {
                    let state = self.transcript_lock(&file.path);
                    self.judge(&file.path, LeftLock::OfTranscript(ward.folder.clone(), id.clone()), state);
                }
                Name::Draft { of, pid } => {
                    let left =
                        LeftDraft { path: file.path.clone(), of: ward.folder.join(of), is_of_sessions: true };
                    self.examine_draft(left, *pid);
                }
                _ => {}
            }
        }
    }

    fn judge(&mut self, lock: &Path, left: LeftLock, state: Option<State>) {
        self.checked.locks += 1;
        let protects = left.file();
        match state {
            None => {}
            Some(State::Held(pid)) => {
                self.held.insert(protects, Held { pid });
                let mut finding = Finding::new(
                    Code::LockHeld,
                    lock,
                    format!("Process {pid} is at work on what it protects."),
                );
                finding.held_by = Some(pid);
                self.found(finding);
            }
            Some(State::Fresh) => {
                self.held.insert(protects, Held { pid: 0 });
                self.found(Finding::new(Code::LockHeld, lock, "Somebody is just about to take it."));
            }
            Some(State::Stale(pid)) => {
                self.found(Finding::new(
                    Code::LockStale,
                    lock,
                    format!("Process {pid}, which made it, is gone."),
                ));
                self.plan.locks.push((lock.to_owned(), left));
            }
            Some(State::Foreign) => {
                self.found(Finding::new(Code::LockForeign, lock, "It does not say whose it is."));
                self.plan.locks.push((lock.to_owned(), left));
            }
        }
    }

    fn store_lock(&self, lock: &Path) -> Option<State> {
        let seen = Seen::at(lock).ok()??;
        let holder = seen.text.as_deref().and_then(store_lock::Holder::read);
        let now = millis(&*self.doctor.clock);
        let held = store_lock::Held { written: Some(seen.written()), holder };
        let what_to_do = when_locked(now, now, held, process::look_up);
        Some(match (holder, what_to_do) {
            (Some(holder), WhenLocked::Remove) => State::Stale(holder.pid),
            // It is given two seconds, in case its process is one of another container; a repair waits.
            (Some(holder), _) if process::look_up(holder.pid).is_not_the_one(holder.since) => {
                State::Stale(holder.pid)
            }
            (Some(holder), _) => State::Held(holder.pid),
            (None, WhenLocked::Remove) => State::Foreign,
            (None, _) => State::Fresh,
        })
    }

    fn transcript_lock(&self, lock: &Path) -> Option<State> {
        let seen = Seen::at(lock).ok()??;
        Some(match (holder_of(&seen), is_held(&seen, &*self.doctor.clock)) {
            (Some(holder), true) => State::Held(holder.pid),
            (Some(holder), false) => State::Stale(holder.pid),
            (None, true) => State::Fresh,
            (None, false) => State::Foreign,
        })
    }

    pub(super) fn examine_draft(&mut self, left: LeftDraft, pid: i64) {
        let draft = &left.path;
        if process::look_up(pid) != store_lock::Process::Gone && !is_older_than_its_writer(draft, pid) {
            self.found(Finding::new(Code::DraftLive, draft, format!("Process {pid} is writing it.")));
            return;
        }
        let what = format!("Process {pid} was writing it, and is gone.");
        self.found(Finding::new(Code::DraftLeft, draft, what));
        self.plan.drafts.push(left);
    }
}

/// Whether a file was written before the process began that has its writer's number now.
fn is_older_than_its_writer(file: &Path, pid: i64) -> bool {
    let written = file.symlink_metadata().and_then(|about| about.modified()).ok();
    let written = written.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    written.is_some_and(|written| process::look_up(pid).is_not_the_one(written.as_secs_f64() * 1000.0))
}
