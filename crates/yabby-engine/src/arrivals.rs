//! Recognises messages that arrive again (`sessions.md` §11).
//!
//! A repeat is answered like the first delivery, and so it waits for the same promise: until the first one is on
//! record. If the first could not be recorded, the repeat takes its place.

use std::collections::HashMap;
use std::sync::Mutex;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use yabby_domain::inbound::recent::RecentMessages;

use crate::unpoisoned;

pub(crate) struct Arrivals {
    /// Ages are counted from here, since the time of day may be set meanwhile.
    started: Instant,
    /// Shared, since every channel asks.
    state: Mutex<State>,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self { started: Instant::now(), state: Mutex::default() }
    }
}

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
    pub(crate) async fn register(&self, key: &str) -> Option<Arrival<'_>> {
        loop {
            let first = {
                let mut state = unpoisoned(&self.state);
                match state.pending.get(key).cloned() {
                    Some(first) => first,
                    None if state.recent.is_repeated(key, self.uptime_ms()) => return None,
                    None => {
                        state.pending.insert(key.to_owned(), CancellationToken::new());
                        return Some(Arrival { arrivals: self, key: key.to_owned(), is_recorded: false });
                    }
                }
            };
            first.cancelled().await;
        }
    }

    /// Remembers a message that was recorded `age_ms` ago, before this process started.
    pub(crate) fn remember(&self, key: &str, age_ms: i64) {
        let at = self.uptime_ms().saturating_sub(age_ms);
        unpoisoned(&self.state).recent.is_repeated(key, at);
    }

    fn uptime_ms(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX)
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
        let mut state = unpoisoned(&self.arrivals.state);
        if !self.is_recorded {
            state.recent.forget(&self.key);
        }
        if let Some(token) = state.pending.remove(&self.key) {
            token.cancel();
        }
    }
}
