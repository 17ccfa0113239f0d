//! The door to what makes a turn survive: its steps, written down before they are relied on
//! (`sessions.md` §9, §18).

use async_trait::async_trait;

use super::StoreError;
use crate::turn::{Record, TurnId};

/// Where the steps of turns are written down.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Adds records, in order. Of an error nothing remains.
    async fn append(&self, records: Vec<Record>, promise: Promise) -> Result<(), StoreError>;

    /// The records of every turn that is not settled, and of those that were settled a short while ago
    /// what [`retained`] leaves of them: turn by turn, as they were accepted, each one's in the order in
    /// which they were written. Includes what processes that are no more left behind; it is this one's
    /// from now on.
    ///
    /// [`retained`]: crate::turn::retention::retained
    async fn replay(&self) -> Result<Vec<Record>, StoreError>;

    /// The records of one turn that this process wrote or took over, in the order in which they were written.
    async fn records_of(&self, turn: &TurnId) -> Result<Vec<Record>, StoreError>;
}

/// What survives once a record was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// The end of the process. A later durable record makes this one durable, too.
    Written,
    /// A power failure.
    Durable,
}
