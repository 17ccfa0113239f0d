//! Stories about the ledger of calls in files.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;
use yabby_domain::ledger::CallRecord;
use yabby_domain::seam::ledger::Ledger;
use yabby_store::files::ledger::{UsageLedger, read};
use yabby_testkit::faulty_disk::{Fault, FaultyDisk, Kind};

use crate::watched_disk::{Step, WatchedDisk};

const JANUARY: i64 = 1_768_469_400_000;
const FEBRUARY: i64 = JANUARY + 31 * 24 * 3_600_000;

fn call(at: i64, input: u64) -> CallRecord {
    CallRecord { at, input, provider: "acme".to_owned(), model: "small".to_owned(), ..CallRecord::default() }
}

fn inputs(folder: &Path, since: Option<&str>) -> Vec<u64> {
    let months = read(folder, since).unwrap();
    months.iter().flat_map(|month| &month.calls).map(|call| call.input).collect()
}

#[test]
fn calls_are_kept_in_the_file_of_their_month() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("usage");
    let ledger = UsageLedger::open(&folder).unwrap();
    assert!(inputs(&folder, None).is_empty() && !folder.exists());
    for (at, input) in [(JANUARY, 1), (FEBRUARY, 2), (JANUARY, 3)] {
        ledger.record(call(at, input));
    }
    drop(ledger);
    let names = read(&folder, None).unwrap();
    let names: Vec<_> = names.iter().map(|month| month.path.file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["2026-01.jsonl", "2026-02.jsonl"]);
    assert_eq!(inputs(&folder, None), [1, 3, 2]);
    assert_eq!(inputs(&folder, Some("2026-02")), [2]);
    let again = UsageLedger::open(&folder).unwrap();
    again.record(call(FEBRUARY, 4));
    again.flush().unwrap();
    assert_eq!(inputs(&folder, Some("2026-02")), [2, 4]);
}

#[test]
fn many_processes_share_a_file_without_cutting_each_other_off() {
    let home = TempDir::new().unwrap();
    let ledgers: Vec<_> = (0..4).map(|_| UsageLedger::open(home.path()).unwrap()).collect();
    std::thread::scope(|threads| {
        for (at, ledger) in ledgers.iter().enumerate() {
            threads.spawn(move || {
                for number in 0..250 {
                    ledger.record(call(JANUARY, at as u64 * 1000 + number));
                }
            });
        }
    });
    drop(ledgers);
    let months = read(home.path(), None).unwrap();
    let mut found = inputs(home.path(), None);
    found.sort_unstable();
    let all: Vec<u64> = (0..4).flat_map(|at| (0..250).map(move |number| at * 1000 + number)).collect();
    assert_eq!((found, months[0].damaged.len()), (all, 0));
}

#[test]
fn damaged_lines_are_skipped_and_never_glued_to() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("2026-01.jsonl");
    let torn = format!("{}\ngarbage\n\u{fffd}\n{{\"at\":17", call(JANUARY, 1).line());
    fs::write(&path, &torn).unwrap();
    fs::write(home.path().join("notes.jsonl"), "x").unwrap();
    let ledger = UsageLedger::open(home.path()).unwrap();
    ledger.record(call(JANUARY, 2));
    drop(ledger);
    let months = read(home.path(), None).unwrap();
    assert_eq!((months.len(), months[0].damaged.as_slice()), (1, &[2, 3, 4][..]));
    assert_eq!(inputs(home.path(), None), [1, 2]);
    assert!(fs::read_to_string(&path).unwrap().starts_with(&torn), "what was there stays");
}

#[test]
fn what_cannot_be_written_now_is_written_later() {
    let home = TempDir::new().unwrap();
    let is_full = Arc::new(AtomicBool::new(true));
    let full = is_full.clone();
    let disk = WatchedDisk::new(move |step| match step {
        Step::Write(_) if full.load(Ordering::SeqCst) => Err(std::io::ErrorKind::StorageFull.into()),
        _ => Ok(()),
    });
    let ledger = UsageLedger::open_with(home.path(), disk).unwrap();
    ledger.record(call(JANUARY, 1));
    assert!(ledger.flush().unwrap_err().to_string().contains("free some space"));
    is_full.store(false, Ordering::SeqCst);
    ledger.record(call(JANUARY, 2));
    drop(ledger);
    assert_eq!(inputs(home.path(), None), [1, 2]);
}

#[test]
fn a_fault_at_any_operation_loses_no_call_and_writes_none_twice() {
    let tell = |fault| {
        let home = TempDir::new().unwrap();
        let disk = Arc::new(FaultyDisk::new(fault));
        let ledger = UsageLedger::open_with(home.path().join("usage"), disk.clone()).unwrap();
        for (at, input) in [(JANUARY, 1), (JANUARY, 2), (FEBRUARY, 3)] {
            ledger.record(call(at, input));
            let _ = ledger.flush();
        }
        drop(ledger);
        (home, disk.operations())
    };
    let (_, operations) = tell(Fault::Never);
    assert!(operations > 8, "{operations}");
    for kind in Kind::ALL {
        for at in 0..operations - 1 {
            let fault = Fault::At { operation: at, kind };
            let (home, _) = tell(fault);
            let folder = home.path().join("usage");
            assert_eq!(inputs(&folder, None), [1, 2, 3], "{fault:?}");
            assert!(read(&folder, None).unwrap().iter().all(|month| month.damaged.is_empty()), "{fault:?}");
        }
    }
}
