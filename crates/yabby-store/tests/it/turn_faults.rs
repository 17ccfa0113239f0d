//! What is left of a journal of turns when the disk fails, at every single operation.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use yabby_domain::seam::StoreError;
use yabby_domain::seam::journal::Promise;
use yabby_domain::turn::{Record, Step, TurnId, progress};
use yabby_store::files::turns::{Kind, Settings, TurnJournal};
use yabby_testkit::clock::FixedClock;
use yabby_testkit::faulty_disk::{Fault, FaultyDisk, Kind as FaultKind};
use yabby_testkit::store_contract::turns::{BEGIN, accepted, settled, tool_begun};

/// What was promised and what was not, in the order in which it was tried.
#[derive(Default)]
struct Story {
    promised: Vec<Record>,
    failed: Vec<Record>,
    errors: Vec<StoreError>,
}

fn open(folder: &Path, disk: Option<&Arc<FaultyDisk>>) -> TurnJournal {
    let mut settings =
        Settings { limit: 3000, clock: Arc::new(FixedClock::at(BEGIN)), ..Settings::default() };
    if let Some(disk) = disk {
        settings.disk = disk.clone();
    }
    TurnJournal::open(folder.join("turns"), Kind::Gateway, settings).unwrap()
}

/// Turns that two processes left behind, of which one copied a part of the other's.
fn left_behind(folder: &Path) -> Vec<Record> {
    let (one, other) = (open(folder, None), open(folder, None));
    let records =
        vec![accepted("lost", BEGIN - 9), tool_begun("lost", "1", BEGIN - 8), accepted("also lost", BEGIN)];
    one.append_blocking(records.clone(), Promise::Durable).unwrap();
    other.append_blocking(records[..1].to_vec(), Promise::Durable).unwrap();
    records
}

/// Adopts what is there, then takes turns, of which some are not settled in the end.
fn tell(folder: &Path, disk: &Arc<FaultyDisk>) -> Story {
    let mut story = Story::default();
    let journal = open(folder, Some(disk));
    for _ in 0..2 {
        match journal.replay_blocking() {
            Ok(_) => break,
            Err(error) => story.errors.push(error),
        }
    }
    for number in 0..8 {
        let turn = format!("turn-{number}");
        story.append(&journal, accepted(&turn, BEGIN + number), Promise::Durable);
        story.append(&journal, tool_begun(&turn, "1", BEGIN), Promise::Written);
        story.append(&journal, tool_begun(&turn, "2", BEGIN), Promise::Durable);
        if number % 3 != 0 {
            story.append(&journal, settled(&turn, BEGIN), Promise::Written);
        }
    }
    story.append(&journal, settled("lost", BEGIN), Promise::Durable);
    // What is done on exit is part of the story.
    drop(journal);
    story
}

impl Story {
    fn append(&mut self, journal: &TurnJournal, record: Record, promise: Promise) {
        match journal.append_blocking(vec![record.clone()], promise) {
            Ok(()) => self.promised.push(record),
            Err(error) => {
                self.failed.push(record);
                self.errors.push(error);
            }
        }
    }

    /// Everything that was promised is there once, and of what failed nothing is, except that nobody
    /// knows what a machine did last.
    fn check(&self, folder: &Path, left_behind: &[Record], fault: Fault) {
        let heir = open(folder, None);
        let found = heir.replay_blocking().unwrap();
        let turns = progress(found.iter().cloned());
        let promised = || left_behind.iter().chain(&self.promised);
        let is_settled = |record: &&Record| matches!(record.step, Step::Settled { .. });
        let ends: Vec<&str> = promised().filter(is_settled).map(|record| record.turn.as_str()).collect();
        let is_accepted = |turn: &TurnId| {
            let begins = |record: &Record| record.turn == *turn && matches!(record.step, Step::Accepted(_));
            promised().any(begins)
        };
        let is_in_doubt = |record: &Record| {
            let is_dead = matches!(fault, Fault::DeadFrom(_));
            is_dead && self.failed.iter().filter(is_settled).any(|end| end.turn == record.turn)
        };
        for record in promised() {
            if ends.contains(&record.turn.as_str()) {
                let is_open = turns.get(&record.turn).is_some_and(|turn| turn.settled.is_none());
                assert!(!is_open, "{} came back after {fault:?}: {:?}", record.turn, self.errors);
            } else if is_accepted(&record.turn) && !is_in_doubt(record) {
                assert!(found.contains(record), "{record:?} after {fault:?}: {:?}", self.errors);
            }
        }
        let mut times = BTreeMap::<String, usize>::new();
        for record in &found {
            *times.entry(record.line()).or_default() += 1;
        }
        assert!(times.values().all(|times| *times == 1), "{fault:?}: {times:?}");
        let may_remain = usize::from(matches!(fault, Fault::DeadFrom(_)));
        let remaining = self.failed.iter().filter(|record| found.contains(record)).count();
        assert!(remaining <= may_remain, "{fault:?}: {:?} {:?}", self.failed, self.errors);
        heir.append_blocking(vec![accepted("afterwards", BEGIN)], Promise::Durable).unwrap();
        assert_eq!(heir.notices().unwrap(), [], "{fault:?}");
        drop(heir);
        let heir = open(folder, None);
        let known = progress(heir.replay_blocking().unwrap());
        assert_eq!(known.len(), turns.len() + 1);
        let ends = known.keys().map(|turn| settled(turn.as_str(), BEGIN)).collect();
        heir.append_blocking(ends, Promise::Durable).unwrap();
        assert_eq!(heir.notices().unwrap(), [], "{fault:?}");
        let files = std::fs::read_dir(folder.join("turns")).unwrap().count();
        let drafts = usize::from(matches!(fault, Fault::DeadFrom(_)));
        assert!(files <= 1 + drafts, "{fault:?}: {files} files");
    }
}

fn told_with(fault: Fault) -> (TempDir, Vec<Record>, Story, usize) {
    let folder = TempDir::new().unwrap();
    let left_behind = left_behind(folder.path());
    let disk = Arc::new(FaultyDisk::new(fault));
    let story = tell(folder.path(), &disk);
    (folder, left_behind, story, disk.operations())
}

#[test]
fn a_machine_that_stops_at_any_operation_loses_no_step_that_was_promised() {
    let (_, _, story, operations) = told_with(Fault::Never);
    assert!(operations > 50 && story.errors.is_empty(), "{operations} {:?}", story.errors);
    for at in 0..operations {
        let fault = Fault::DeadFrom(at);
        let (folder, left_behind, story, _) = told_with(fault);
        story.check(folder.path(), &left_behind, fault);
    }
}

#[test]
fn a_single_fault_fails_one_step_at_most_and_leaves_nothing_of_it() {
    let (_, _, _, operations) = told_with(Fault::Never);
    for kind in FaultKind::ALL {
        for at in 0..operations {
            let fault = Fault::At { operation: at, kind };
            let (folder, left_behind, story, _) = told_with(fault);
            assert!(story.errors.len() <= 1, "{fault:?}: {:?}", story.errors);
            for error in &story.errors {
                let text = error.to_string();
                let names_the_place = text.contains(&folder.path().display().to_string());
                assert!(names_the_place && text.starts_with("cannot "), "{fault:?}: {text}");
            }
            assert!(kind != FaultKind::ShortWrite || story.errors.is_empty(), "{fault:?}");
            story.check(folder.path(), &left_behind, fault);
        }
    }
}
