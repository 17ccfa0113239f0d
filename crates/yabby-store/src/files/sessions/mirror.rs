//! The records that were wanted last. Whoever wants one again looks here, and need not ask the keeper as long as the
//! files look as they did when it was put here.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use yabby_domain::seam::Stamp;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;

/// Sessions in which something goes on are few.
const MOST: usize = 64;

/// Records, which may be none, by their keys.
pub(super) type Records = Vec<(SessionKey, Option<SessionEntry>)>;

/// The keeper writes it, and everybody reads it; nobody holds it for longer than it takes to look.
#[derive(Default)]
pub(super) struct Mirror(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    /// How the files look of which the records are.
    stamp: Option<Stamp>,
    records: HashMap<SessionKey, Option<SessionEntry>>,
}

impl Seen {
    fn add(&mut self, key: SessionKey, record: Option<SessionEntry>) {
        if self.records.len() >= MOST {
            self.records.clear();
        }
        self.records.insert(key, record);
    }
}

impl Mirror {
    /// A record, which may be none; `None` if the keeper is to be asked.
    pub(super) fn find(&self, key: &SessionKey, stamp: Stamp) -> Option<Option<SessionEntry>> {
        let seen = self.seen();
        if seen.stamp != Some(stamp) {
            return None;
        }
        seen.records.get(key).cloned()
    }

    /// The files look like this. If they looked otherwise before, nothing is known of them.
    pub(super) fn follow(&self, stamp: Option<Stamp>) {
        let mut seen = self.seen();
        if seen.stamp != stamp {
            seen.records.clear();
            seen.stamp = stamp;
        }
    }

    pub(super) fn add(&self, key: SessionKey, record: Option<SessionEntry>) {
        self.seen().add(key, record);
    }

    /// We changed these records, and nothing else, and now the files look like this.
    pub(super) fn move_on(&self, stamp: Stamp, changed: Records) {
        let mut seen = self.seen();
        seen.stamp = Some(stamp);
        for (key, record) in changed {
            seen.add(key, record);
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
