//! The door to what remembers the price of everything (`sessions.md` §14).

use crate::ledger::CallRecord;

/// Where calls of models are written down.
pub trait Ledger: Send + Sync {
    /// Hands a call over. It does not wait, and it cannot fail: no answer is held up by its price.
    fn record(&self, call: CallRecord);
}
