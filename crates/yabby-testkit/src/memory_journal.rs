//! A journal of turns that keeps everything in memory: for tests of what takes turns.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::OwnedMutexGuard;
use yabby_domain::seam::journal::{Journal, Promise};
use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::turn::retention::{merged, retained};
use yabby_domain::turn::{Record, TurnId};

use crate::unpoisoned;

/// The journal of one process. Copies are the same process; it ends with the last of them, or when it
/// [dies](Self::die).
#[derive(Clone)]
pub struct MemoryJournal(Arc<Process>);

struct Process {
    number: u64,
    place: Arc<Mutex<Place>>,
    clock: Arc<dyn Clock>,
}

/// What all processes left.
#[derive(Default)]
struct Place {
    journals: BTreeMap<u64, Kept>,
    processes: u64,
    failing: VecDeque<StoreError>,
    promises: Vec<Promise>,
    /// One append after the other.
    disk: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct Kept {
    records: Vec<Record>,
    is_abandoned: bool,
    /// With more records it is cut down.
    threshold: usize,
}

/// How many records are kept before those of settled turns are forgotten.
const LIMIT: usize = 256;

impl MemoryJournal {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::begin(Arc::default(), clock)
    }

    /// Another process with the same folder, as it were.
    pub fn another(&self) -> Self {
        Self::begin(self.0.place.clone(), self.0.clock.clone())
    }

    fn begin(place: Arc<Mutex<Place>>, clock: Arc<dyn Clock>) -> Self {
        let mut held = unpoisoned(&place);
        held.processes += 1;
        let number = held.processes;
        held.journals.insert(number, Kept::default());
        drop(held);
        Self(Arc::new(Process { number, place, clock }))
    }

    /// As if the process was killed: what it wrote is anybody's, and whoever still has a copy of this
    /// cannot write any more.
    pub fn die(&self) {
        if let Some(kept) = unpoisoned(&self.0.place).journals.get_mut(&self.0.number) {
            kept.is_abandoned = true;
        }
    }

    /// The next append of any process fails, and nothing of it remains.
    pub fn fail_next(&self) {
        let source = Arc::new(io::Error::from(io::ErrorKind::StorageFull));
        let error = StoreError::Io { doing: "write", path: "turns".to_owned(), source };
        unpoisoned(&self.0.place).failing.push_back(error);
    }

    /// The disk is busy until this is dropped: whatever is appended waits.
    pub async fn hold_up(&self) -> OwnedMutexGuard<()> {
        let disk = unpoisoned(&self.0.place).disk.clone();
        disk.lock_owned().await
    }

    /// Everything that was written and not forgotten, by all processes.
    pub fn records(&self) -> Vec<Record> {
        let place = unpoisoned(&self.0.place);
        place.journals.values().flat_map(|kept| kept.records.iter().cloned()).collect()
    }

    /// What was promised with each append, to count what a turn costs.
    pub fn promises(&self) -> Vec<Promise> {
        unpoisoned(&self.0.place).promises.clone()
    }

    /// The last record of those that were left behind is lost, as if a process died while it wrote it.
    pub fn tear(&self) {
        let mut place = unpoisoned(&self.0.place);
        if let Some(kept) = place.journals.values_mut().find(|kept| kept.is_abandoned) {
            kept.records.pop();
        }
    }

    fn closed(&self) -> StoreError {
        StoreError::Closed { path: "turns".to_owned() }
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn append(&self, records: Vec<Record>, promise: Promise) -> Result<(), StoreError> {
        let now = self.0.clock.now().as_millisecond();
        let _disk = self.hold_up().await;
        let mut place = unpoisoned(&self.0.place);
        if let Some(error) = place.failing.pop_front() {
            return Err(error);
        }
        place.promises.push(promise);
        let kept = place.journals.get_mut(&self.0.number).filter(|kept| !kept.is_abandoned);
        let kept = kept.ok_or_else(|| self.closed())?;
        // What is read again went through its line.
        kept.records.extend(records.iter().filter_map(|record| Record::parse(&record.line())));
        if kept.records.len() > kept.threshold.max(LIMIT) {
            kept.records = retained(std::mem::take(&mut kept.records), now, |_| false).collect();
            kept.threshold = kept.records.len() * 2;
        }
        Ok(())
    }

    async fn records_of(&self, turn: &TurnId) -> Result<Vec<Record>, StoreError> {
        let place = unpoisoned(&self.0.place);
        let own = place.journals.get(&self.0.number).filter(|kept| !kept.is_abandoned);
        let own = own.ok_or_else(|| self.closed())?;
        Ok(own.records.iter().filter(|record| record.turn == *turn).cloned().collect())
    }

    async fn replay(&self) -> Result<Vec<Record>, StoreError> {
        let now = self.0.clock.now().as_millisecond();
        let mut place = unpoisoned(&self.0.place);
        let is_own = |kept: &Kept| !kept.is_abandoned;
        let own = place.journals.remove(&self.0.number).filter(is_own).ok_or_else(|| self.closed())?;
        let mut all = vec![own.records];
        place.journals.retain(|_, kept| {
            if kept.is_abandoned {
                all.push(std::mem::take(&mut kept.records));
            }
            !kept.is_abandoned
        });
        let records: Vec<Record> = retained(merged(all), now, |_| false).collect();
        let kept = Kept { records: records.clone(), ..Kept::default() };
        place.journals.insert(self.0.number, kept);
        Ok(records)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut place = unpoisoned(&self.place);
        // One that was killed has left everything as it was.
        let is_alive = place.journals.get(&self.number).is_some_and(|kept| !kept.is_abandoned);
        if is_alive && let Some(mut kept) = place.journals.remove(&self.number) {
            kept.is_abandoned = true;
            kept.records = retained(kept.records, self.clock.now().as_millisecond(), |_| false).collect();
            if !kept.records.is_empty() {
                place.journals.insert(self.number, kept);
            }
        }
    }
}
