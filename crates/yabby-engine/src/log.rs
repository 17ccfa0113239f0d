//! The steps of turns, on their way to the journal.

use std::sync::Arc;

use yabby_domain::seam::journal::{Journal, Promise};
use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::turn::{Outcome, Progress, Record, Step, TurnId, progress};

pub(crate) struct TurnLog {
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
}

impl TurnLog {
    pub(crate) fn new(journal: Arc<dyn Journal>, clock: Arc<dyn Clock>) -> Self {
        Self { journal, clock }
    }

    /// How far a turn came, as the journal tells; `None` if it does not know the turn.
    pub(crate) async fn progress_of(&self, turn: &TurnId) -> Result<Option<Progress>, StoreError> {
        Ok(progress(self.journal.records_of(turn).await?).shift_remove(turn))
    }

    pub(crate) async fn replay(&self) -> Result<Vec<Record>, StoreError> {
        self.journal.replay().await
    }

    /// Writes a step down that somebody is about to be promised.
    pub(crate) async fn promise(&self, record: Record) -> Result<(), StoreError> {
        self.journal.append(vec![record], Promise::Durable).await
    }

    /// Writes steps down so that they survive this process.
    pub(crate) async fn note(
        &self,
        turn: &TurnId,
        steps: impl IntoIterator<Item = Step>,
    ) -> Result<(), StoreError> {
        self.add(turn, steps, Promise::Written).await
    }

    /// Writes steps down so that they survive a power failure.
    pub(crate) async fn keep(
        &self,
        turn: &TurnId,
        steps: impl IntoIterator<Item = Step>,
    ) -> Result<(), StoreError> {
        self.add(turn, steps, Promise::Durable).await
    }

    /// The turn is over; nobody takes it up again. Whether that is written down.
    pub(crate) async fn settle(&self, turns: impl IntoIterator<Item = (TurnId, Outcome)>) -> bool {
        let at = self.now();
        let settled = |(turn, outcome): (TurnId, Outcome)| Record::new(&turn, at, Step::Settled { outcome });
        let records: Vec<Record> = turns.into_iter().map(settled).collect();
        let written = self.journal.append(records, Promise::Written).await;
        if let Err(error) = &written {
            // The reply is in the transcript and the journal knows that it was sent: a later start only
            // finds that there is nothing left to do.
            tracing::warn!(%error, "the end of a turn was not written down");
        }
        written.is_ok()
    }

    async fn add(
        &self,
        turn: &TurnId,
        steps: impl IntoIterator<Item = Step>,
        promise: Promise,
    ) -> Result<(), StoreError> {
        let at = self.now();
        let records: Vec<Record> = steps.into_iter().map(|step| Record::new(turn, at, step)).collect();
        if records.is_empty() { Ok(()) } else { self.journal.append(records, promise).await }
    }

    fn now(&self) -> i64 {
        self.clock.now().as_millisecond()
    }
}
