//! A ledger that keeps everything in memory: for tests of what calls models.

use std::sync::{Arc, Mutex, PoisonError};

use yabby_domain::ledger::CallRecord;
use yabby_domain::seam::ledger::Ledger;

/// Calls in memory. Copies share them.
#[derive(Clone, Debug, Default)]
pub struct MemoryLedger(Arc<Mutex<Vec<CallRecord>>>);

impl MemoryLedger {
    /// Every call, in the order in which they were handed over.
    pub fn calls(&self) -> Vec<CallRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Ledger for MemoryLedger {
    fn record(&self, call: CallRecord) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }
}
