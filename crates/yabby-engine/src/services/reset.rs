//! Reset: an empty conversation under the same key (`gateway.md` §6). The old transcript stays where it is.

use std::sync::{Arc, Mutex};

use yabby_domain::seam::StoreError;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::renew::renewed;

use super::SessionScope;
use crate::{fresh_id, unpoisoned};

/// A session that begins over.
#[derive(Clone, Debug, PartialEq)]
pub struct ResetOutcome {
    /// The record as it was begun.
    pub begun: SessionEntry,
    /// The same as the store keeps it, with what it fills in.
    pub stored: SessionEntry,
}

/// Begins a session anew. What is remembered knows by then whose the old conversation was.
pub async fn reset_session(
    scope: &SessionScope,
    key: &SessionKey,
    now: f64,
) -> Result<ResetOutcome, StoreError> {
    scope.index_conversations().await;
    let begun: Arc<Mutex<SessionEntry>> = Arc::default();
    let (slot, id) = (begun.clone(), fresh_id());
    let change = move |entry: &mut Option<SessionEntry>| {
        let fresh = renewed(entry.as_ref(), &id, now);
        *unpoisoned(&slot) = fresh.clone();
        *entry = Some(fresh);
    };
    let stored = scope.sessions.update(key, Box::new(change)).await?.unwrap_or_default();
    let begun = std::mem::take(&mut *unpoisoned(&begun));
    Ok(ResetOutcome { begun, stored })
}
