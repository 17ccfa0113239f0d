//! The door to the books (`sessions.md` §14).

use crate::ledger::CallRecord;

pub trait Ledger: Send + Sync {
    fn record(&self, call: CallRecord);
}
