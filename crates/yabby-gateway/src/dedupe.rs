//! Requests that come again are answered as before (`gateway.md` §5, §8): for five minutes, and not too many.

use std::sync::Mutex;
use std::time::Instant;

use indexmap::IndexMap;

use crate::frames::Answer;
use crate::in_turn::{InTurn, Turn};
use crate::unpoisoned;

const LIFETIME_MS: i64 = 5 * 60_000;
const MOST: usize = 1000;

pub(crate) struct Dedupe {
    began: Instant,
    answers: Mutex<IndexMap<String, (i64, Answer)>>,
    asking: InTurn,
}

impl Default for Dedupe {
    fn default() -> Self {
        Self { began: Instant::now(), answers: Mutex::default(), asking: InTurn::default() }
    }
}

impl Dedupe {
    /// Waits until nobody else is being answered the same. Whoever comes second finds the answer of the first.
    pub(crate) async fn alone(&self, key: &str) -> Option<Turn> {
        self.asking.turn(key).await
    }

    pub(crate) fn find(&self, key: &str) -> Option<Answer> {
        self.find_at(key, self.uptime_ms())
    }

    pub(crate) fn remember(&self, key: &str, answer: Answer) {
        self.remember_at(key, answer, self.uptime_ms());
    }

    /// How long we are there. The time of day may be set meanwhile, and a request is repeated all the same.
    fn uptime_ms(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    fn find_at(&self, key: &str, now: i64) -> Option<Answer> {
        let known = unpoisoned(&self.answers);
        known.get(key).filter(|(at, _)| now - at <= LIFETIME_MS).map(|(_, answer)| answer.clone())
    }

    fn remember_at(&self, key: &str, answer: Answer, now: i64) {
        let mut known = unpoisoned(&self.answers);
        // What is answered anew is as young as its answer.
        known.shift_remove(key);
        known.insert(key.to_owned(), (now, answer));
        let stale = known.values().take_while(|(at, _)| now - at > LIFETIME_MS).count();
        let surplus = known.len().saturating_sub(MOST);
        known.drain(..stale.max(surplus));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_known_for_a_while_and_not_too_many() {
        let dedupe = Dedupe::default();
        dedupe.remember_at("a", Ok(json!(1)), 0);
        assert_eq!(dedupe.find_at("a", LIFETIME_MS), Some(Ok(json!(1))));
        assert_eq!(dedupe.find_at("a", LIFETIME_MS + 1), None);
        dedupe.remember_at("b", Ok(json!(2)), LIFETIME_MS + 1);
        assert_eq!(unpoisoned(&dedupe.answers).len(), 1);
        for number in 0..2 * MOST {
            dedupe.remember_at(&number.to_string(), Ok(json!(number)), LIFETIME_MS + 2);
        }
        assert_eq!(unpoisoned(&dedupe.answers).len(), MOST);
        assert_eq!(dedupe.find_at("b", LIFETIME_MS + 2), None);
    }
}
