//! Recognises messages that arrive again (`sessions.md` §11).
//!
//! A repeat is answered like the first delivery, and so it waits for the same promise: until the first one is on
//! record. If the first could not be recorded, the repeat takes its place.

use std::collections::HashMap;
use std::sync::Mutex;

use tokio_util::sync::CancellationToken;
use yabby_domain::inbound::recent::RecentMessages;

use crate::unpoisoned;

/// Shared, since every channel asks.
#[derive(Default)]
pub(crate) struct Arrivals(Mutex<State>);

#[derive(Default)]
struct State {
    recent: RecentMessages,
    /// Messages that are being recorded, by dedupe key; the token is cancelled when that has ended.
    pending: HashMap<String, CancellationToken>,
}

/// The first delivery of a message. Unless it is confirmed, dropping it forgets the message.
pub(crate) struct Arrival<'a> {
    arrivals: &'a Arrivals,
    key: String,
    is_recorded: bool,
}

impl Arrivals {
    /// Registers a message; `None` if it is a repeat of one that is on record.
    pub(crate) async fn register(&self, key: &str, now: i64) -> Option<Arrival<'_>> {
        loop {
            let first = {
                let mut state = unpoisoned(&self.0);
                match state.pending.get(key).cloned() {
                    Some(first) => first,
                    None if state.recent.is_repeated(key, now) => return None,
                    None => {
                        state.pending.insert(key.to_owned(), CancellationToken::new());
                        return Some(Arrival { arrivals: self, key: key.to_owned(), is_recorded: false });
                    }
                }
            };
            first.cancelled().await;
        }
    }

    /// Remembers a message that was recorded before this process started.
    pub(crate) fn remember(&self, key: &str, at: i64) {
        unpoisoned(&self.0).recent.is_repeated(key, at);
    }
}

impl Arrival<'_> {
    /// The message is on record, or needs no record.
    pub(crate) fn confirm(mut self) {
        self.is_recorded = true;
    }
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        let mut state = unpoisoned(&self.arrivals.0);
        if !self.is_recorded {
            state.recent.forget(&self.key);
        }
        if let Some(token) = state.pending.remove(&self.key) {
            token.cancel();
        }
    }
}
