//! The journal in memory keeps the promises of every journal.

use std::sync::Arc;

use yabby_domain::seam::journal::{Journal, Promise};
use yabby_testkit::clock::FixedClock;
use yabby_testkit::memory_journal::MemoryJournal;
use yabby_testkit::store_contract::turns::{BEGIN, Turns, accepted};
use yabby_testkit::store_contract::{self};

struct Memory {
    clock: Arc<FixedClock>,
    /// A process that takes no turns.
    watcher: MemoryJournal,
}

impl Turns for Memory {
    fn journal(&self) -> Arc<dyn Journal> {
        Arc::new(self.watcher.another())
    }

    fn advance(&self, millis: i64) {
        self.clock.advance(millis);
    }

    fn tear(&self) {
        self.watcher.tear();
    }

    fn bytes(&self) -> usize {
        self.watcher.records().iter().map(|record| record.line().len()).sum()
    }
}

fn memory() -> Box<dyn Turns> {
    let clock = Arc::new(FixedClock::at(BEGIN));
    Box::new(Memory { watcher: MemoryJournal::new(clock.clone()), clock })
}

#[tokio::test]
async fn turns_in_memory_keep_the_contract() {
    store_contract::turns(memory).await;
}

#[tokio::test]
async fn a_journal_fails_and_dies_when_it_is_told_to() {
    let journal = MemoryJournal::new(Arc::new(FixedClock::at(BEGIN)));
    journal.fail_next();
    journal.append(vec![accepted("a", BEGIN)], Promise::Durable).await.unwrap_err();
    journal.append(vec![accepted("b", BEGIN)], Promise::Durable).await.unwrap();
    assert_eq!(journal.replay().await.unwrap(), [accepted("b", BEGIN)]);
    let heir = journal.another();
    journal.die();
    journal.append(vec![accepted("c", BEGIN)], Promise::Durable).await.unwrap_err();
    assert_eq!(heir.replay().await.unwrap(), [accepted("b", BEGIN)]);
    assert_eq!(heir.promises(), [Promise::Durable, Promise::Durable]);
}
