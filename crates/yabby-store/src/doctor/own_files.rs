//! What only yabby writes: the journals of turns, the ledger of calls, and what was typed in a terminal.

use std::fs;
use std::path::Path;

use yabby_domain::seam::StoreError;

use super::examination::{Round, counted};
use super::finding::{Code, Finding};
use crate::files::ledger::{self, is_month};
use crate::files::turns::{self, JournalLook, JournalName};

pub(super) fn examine(round: &mut Round<'_>) {
    let (turns, usage) = (round.doctor.place.folder.turns(), round.doctor.place.folder.usage());
    look_for_others(round, &turns, |name| match name.split_once(".jsonl") {
        // Drafts and damaged journals have something behind the name.
        Some((journal, _)) => JournalName::parse(&format!("{journal}.jsonl")).is_some(),
        None => false,
    });
    look_for_others(round, &usage, is_month);
    if round.doctor.place.folder.agent_history().is_file() {
        round.checked.other_files += 1;
    }
    match turns::look(&turns) {
        Ok(journals) => journals.iter().for_each(|journal| examine_journal(round, journal)),
        Err(error) => unreadable(round, &turns, &error),
    }
    match ledger::read(&usage, None) {
        Ok(months) => {
            for month in months {
                round.checked.other_files += 1;
                if !month.damaged.is_empty() {
                    let count = counted(month.damaged.len(), "line is no call", "lines are no calls");
                    let what = format!("{count} of a model.");
                    found(round, Code::LedgerDamaged, &month.path, what, month.damaged);
                }
            }
        }
        Err(error) => unreadable(round, &usage, &error),
    }
}

fn examine_journal(round: &mut Round<'_>, journal: &JournalLook) {
    round.checked.other_files += 1;
    if !journal.damaged.is_empty() {
        let count = counted(journal.damaged.len(), "line is no step", "lines are no steps");
        let what = format!("{count} of a turn.");
        found(round, Code::TurnJournalDamaged, &journal.path, what, journal.damaged.clone());
    }
    let unsettled = journal.turns.iter().filter(|turn| turn.progress.settled.is_none()).count();
    if unsettled > 0 && !journal.is_alive {
        let what = format!(
            "{} accepted by process {}, which is no more, and not settled.",
            counted(unsettled, "message was", "messages were"),
            journal.owner.pid
        );
        round.found(Finding::new(Code::TurnsWaiting, &journal.path, what));
    }
}

fn look_for_others(round: &mut Round<'_>, folder: &Path, is_ours: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_name().to_str().is_some_and(&is_ours) {
            round.found(Finding::new(Code::ForeignFile, entry.path(), "It is none of ours."));
        }
    }
}

fn found(round: &mut Round<'_>, code: Code, path: &Path, what: String, mut lines: Vec<usize>) {
    const SHOWN: usize = 20;
    lines.truncate(SHOWN);
    let mut finding = Finding::new(code, path, what);
    finding.lines = lines;
    round.found(finding);
}

fn unreadable(round: &mut Round<'_>, folder: &Path, error: &StoreError) {
    round.found(Finding::new(Code::JsonUnreadable, folder, format!("It cannot be read: {error}.")));
}
