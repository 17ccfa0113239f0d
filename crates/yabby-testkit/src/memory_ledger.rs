//! A ledger that keeps everything in memory: for tests of what calls models.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::tz::TimeZone;
use yabby_domain::budget::{Budgets, Spending};
use yabby_domain::ledger::CallRecord;
use yabby_domain::seam::ledger::Ledger;

/// Calls in memory. Copies share them.
#[derive(Clone, Debug, Default)]
pub struct MemoryLedger(Arc<Mutex<Vec<CallRecord>>>, Budgets);

impl MemoryLedger {
    /// A ledger that refuses what goes beyond these budgets.
    pub fn with_budgets(budgets: Budgets) -> Self {
        Self(Arc::default(), budgets)
    }

    /// Every call, in the order in which they were handed over.
    pub fn calls(&self) -> Vec<CallRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Ledger for MemoryLedger {
    fn record(&self, call: CallRecord) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }

    fn refusal(&self, call: &CallRecord, zone: &TimeZone) -> Option<String> {
        let mut spending = Spending::default();
        self.calls().iter().for_each(|made| spending.add(made, zone));
        spending.refusal(&self.1, call, zone)
    }
}
