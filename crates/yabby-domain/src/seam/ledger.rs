//! The door to what remembers the price of everything (`sessions.md` §14).

use jiff::tz::TimeZone;

use crate::ledger::CallRecord;

/// Where calls of models are written down.
pub trait Ledger: Send + Sync {
    /// Hands a call over. It does not wait, and it cannot fail: no answer is held up by its price.
    fn record(&self, call: CallRecord);

    /// Why a call must not be made, in a sentence for whoever asked: a budget is used up. Its tokens and
    /// its price are not known yet.
    fn refusal(&self, call: &CallRecord, zone: &TimeZone) -> Option<String>;
}
