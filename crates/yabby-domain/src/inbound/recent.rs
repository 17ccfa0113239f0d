//! Messages that came lately, to notice when a platform delivers one again (`sessions.md` §11).

use std::collections::{BTreeMap, HashMap};

/// A repetition after this time is a new message.
pub const LIFETIME_MS: i64 = 20 * 60 * 1000;
/// As many as are remembered at all.
pub const MAX_MESSAGES: usize = 5000;

/// The keys ([`super::InboundMessage::dedupe_key`]) of the latest messages.
#[derive(Clone, Debug, Default)]
pub struct RecentMessages {
    seen: HashMap<String, Sighting>,
    /// The keys by the order in which they were last seen.
    order: BTreeMap<u64, String>,
    next: u64,
}

#[derive(Clone, Copy, Debug)]
struct Sighting {
    at: i64,
    order: u64,
}

impl RecentMessages {
    /// Whether the message came before; it is remembered from now on.
    pub fn is_repeated(&mut self, key: &str, now: i64) -> bool {
        let sighting = Sighting { at: now, order: self.next };
        let before = self.seen.insert(key.to_owned(), sighting);
        if let Some(before) = before {
            self.order.remove(&before.order);
        }
        self.order.insert(self.next, key.to_owned());
        self.next += 1;
        let repeated = before.is_some_and(|before| now.saturating_sub(before.at) < LIFETIME_MS);
        if !repeated {
            self.forget_old(now);
        }
        repeated
    }

    /// The message was not taken in after all: its next delivery is the first.
    pub fn forget(&mut self, key: &str) {
        if let Some(sighting) = self.seen.remove(key) {
            self.order.remove(&sighting.order);
        }
    }

    fn forget_old(&mut self, now: i64) {
        let oldest_kept = now.saturating_sub(LIFETIME_MS);
        while let Some((order, key)) = self.order.first_key_value() {
            let expired = self.seen.get(key).is_none_or(|sighting| sighting.at < oldest_kept);
            if !expired && self.order.len() <= MAX_MESSAGES {
                return;
            }
            let (order, key) = (*order, key.clone());
            self.order.remove(&order);
            self.seen.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_repeated_for_twenty_minutes_after_it_was_last_seen() {
        let mut recent = RecentMessages::default();
        //  key   minute  repeated
        let table = [
            ("a", 0, false),
            ("a", 19, true),
            ("b", 20, false),
            ("a", 38, true),
            ("b", 40, false),
            ("a", 58, false),
        ];
        for (key, minute, repeated) in table {
            assert_eq!(recent.is_repeated(key, minute * 60_000), repeated, "{key} {minute}");
        }
    }

    #[test]
    fn a_message_that_was_not_taken_in_is_new_again() {
        let mut recent = RecentMessages::default();
        assert!(!recent.is_repeated("a", 0));
        recent.forget("a");
        assert!(!recent.is_repeated("a", 1));
        assert!(recent.is_repeated("a", 2));
    }

    #[test]
    fn only_the_latest_messages_are_remembered() {
        let mut recent = RecentMessages::default();
        for n in 0..=MAX_MESSAGES {
            recent.is_repeated(&n.to_string(), 0);
        }
        assert!(recent.is_repeated("1", 0));
        assert!(!recent.is_repeated("0", 0));
    }
}
