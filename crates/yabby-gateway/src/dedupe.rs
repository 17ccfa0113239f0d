//! Requests that come again are answered as before (`gateway.md` §5, §8): for five minutes, not too many, and not too
//! much text. A message whose answer is forgotten is still recognised by the engine.

use std::sync::Mutex;

use indexmap::IndexMap;
use tokio::time::Instant;
use yabby_domain::json;

use crate::frames::{Answer, Refusal};
use crate::in_turn::{InTurn, Turn};
use crate::unpoisoned;

const LIFETIME_MS: i64 = 5 * 60_000;
const MAX_ANSWERS: usize = 1000;
/// An answer of `agent` tells what the prompt was made of, which is long.
const MAX_BYTES: usize = 1024 * 1024;

pub(crate) struct Dedupe {
    began: Instant,
    answers: Mutex<Answers>,
    asking: InTurn,
}

impl Default for Dedupe {
    fn default() -> Self {
        Self { began: Instant::now(), answers: Mutex::default(), asking: InTurn::default() }
    }
}

#[derive(Default)]
struct Answers {
    by_key: IndexMap<String, Stored>,
    bytes: usize,
}

/// An answer as text, which takes a fraction of what values take.
struct Stored {
    at: i64,
    answer: Result<Box<str>, Refusal>,
}

impl Stored {
    fn bytes(&self) -> usize {
        /// About what an entry takes besides.
        const ENTRY: usize = 200;
        ENTRY + self.answer.as_ref().map_or(0, |text| text.len())
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

    pub(crate) fn remember(&self, key: &str, answer: &Answer) {
        self.remember_at(key, answer, self.uptime_ms());
    }

    /// How long we are there. The time of day may be set meanwhile, and a request is repeated all the same.
    fn uptime_ms(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    fn find_at(&self, key: &str, now: i64) -> Option<Answer> {
        let answers = unpoisoned(&self.answers);
        let stored = answers.by_key.get(key).filter(|stored| now - stored.at <= LIFETIME_MS)?;
        match &stored.answer {
            Ok(text) => json::parse(text).ok().map(Ok),
            Err(refusal) => Some(Err(refusal.clone())),
        }
    }

    fn remember_at(&self, key: &str, answer: &Answer, now: i64) {
        let answer = match answer {
            Ok(value) => Ok(json::stringify(value).into_boxed_str()),
            Err(refusal) => Err(refusal.clone()),
        };
        let stored = Stored { at: now, answer };
        let mut answers = unpoisoned(&self.answers);
        // What is answered anew is as young as its answer.
        if let Some(before) = answers.by_key.shift_remove(key) {
            answers.bytes -= before.bytes();
        }
        answers.bytes += stored.bytes();
        answers.by_key.insert(key.to_owned(), stored);
        answers.forget_old(now);
    }
}

impl Answers {
    fn forget_old(&mut self, now: i64) {
        let (mut count, mut bytes) = (0, self.bytes);
        for stored in self.by_key.values() {
            let is_stale = now - stored.at > LIFETIME_MS;
            if !is_stale && self.by_key.len() - count <= MAX_ANSWERS && bytes <= MAX_BYTES {
                break;
            }
            count += 1;
            bytes -= stored.bytes();
        }
        self.by_key.drain(..count);
        self.bytes = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_known_for_a_while_and_not_too_many() {
        let dedupe = Dedupe::default();
        dedupe.remember_at("a", &Ok(json!(1)), 0);
        assert_eq!(dedupe.find_at("a", LIFETIME_MS), Some(Ok(json!(1))));
        assert_eq!(dedupe.find_at("a", LIFETIME_MS + 1), None);
        dedupe.remember_at("b", &Ok(json!(2)), LIFETIME_MS + 1);
        assert_eq!(unpoisoned(&dedupe.answers).by_key.len(), 1);
        for number in 0..2 * MAX_ANSWERS {
            dedupe.remember_at(&number.to_string(), &Ok(json!(number)), LIFETIME_MS + 2);
        }
        assert_eq!(unpoisoned(&dedupe.answers).by_key.len(), MAX_ANSWERS);
        assert_eq!(dedupe.find_at("b", LIFETIME_MS + 2), None);
    }

    #[test]
    fn long_answers_are_forgotten_before_they_take_too_much() {
        let dedupe = Dedupe::default();
        let answer = Ok(json!({"text": "x".repeat(40_000)}));
        for number in 0..200 {
            dedupe.remember_at(&number.to_string(), &answer, 0);
            dedupe.remember_at("again", &answer, 0);
        }
        assert_eq!(dedupe.find_at("199", 0), Some(answer));
        assert_eq!(dedupe.find_at("0", 0), None);
        let answers = unpoisoned(&dedupe.answers);
        assert!(answers.bytes <= MAX_BYTES && answers.by_key.len() > 20, "{}", answers.bytes);
        assert_eq!(answers.bytes, answers.by_key.values().map(Stored::bytes).sum::<usize>());
    }
}
