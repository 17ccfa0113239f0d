//! Messages that came lately, to notice when a platform delivers one again (`sessions.md` §11).

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};

/// A repetition after this time is a new message.
pub const LIFETIME_MS: i64 = 20 * 60 * 1000;
/// As many as are remembered at all.
pub const MAX_MESSAGES: usize = 5000;

/// The keys ([`super::InboundMessage::dedupe_key`]) of the latest messages.
///
/// Digests stand for the keys: thousands of short texts, each kept for a while, would lie scattered over the memory and
/// hold on to whole pages of it.
#[derive(Clone, Debug, Default)]
pub struct RecentMessages {
    seen: HashMap<Digest, Sighting>,
    /// In the order in which they were seen. Where one was seen again or forgotten, what is here no longer counts.
    order: VecDeque<(u64, Digest)>,
    next: u64,
    hashers: [RandomState; 2],
}

/// Two hashes with secret keys of their own: nobody can find two texts that have the same.
type Digest = u128;

#[derive(Clone, Copy, Debug)]
struct Sighting {
    at: i64,
    order: u64,
}

impl RecentMessages {
    /// Whether the message came before; it is remembered from now on.
    pub fn is_repeated(&mut self, key: &str, now: i64) -> bool {
        let digest = self.digest(key);
        let before = self.seen.insert(digest, Sighting { at: now, order: self.next });
        self.order.push_back((self.next, digest));
        self.next += 1;
        let repeated = before.is_some_and(|before| now.saturating_sub(before.at) < LIFETIME_MS);
        if !repeated {
            self.forget_old(now);
        }
        if self.order.len() > 2 * MAX_MESSAGES {
            let seen = &self.seen;
            self.order.retain(|(order, digest)| last_sighting(seen, *order, *digest).is_some());
        }
        repeated
    }

    /// The message was not taken in after all: its next delivery is the first.
    pub fn forget(&mut self, key: &str) {
        self.seen.remove(&self.digest(key));
    }

    fn forget_old(&mut self, now: i64) {
        let oldest_kept = now.saturating_sub(LIFETIME_MS);
        while let Some((order, digest)) = self.order.front().copied() {
            if let Some(sighting) = last_sighting(&self.seen, order, digest) {
                if sighting.at >= oldest_kept && self.seen.len() <= MAX_MESSAGES {
                    return;
                }
                self.seen.remove(&digest);
            }
            self.order.pop_front();
        }
    }

    fn digest(&self, key: &str) -> Digest {
        let [high, low] = [0, 1].map(|at: usize| Digest::from(self.hashers[at].hash_one(key)));
        high << 64 | low
    }
}

/// The last sighting of a message, if it is the one with this number.
fn last_sighting(seen: &HashMap<Digest, Sighting>, order: u64, digest: Digest) -> Option<&Sighting> {
    seen.get(&digest).filter(|sighting| sighting.order == order)
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

    #[test]
    fn a_message_that_comes_again_and_again_takes_no_more_room() {
        let mut recent = RecentMessages::default();
        recent.is_repeated("first", 0);
        for _ in 0..5 * MAX_MESSAGES {
            recent.is_repeated("again", 0);
        }
        assert!(recent.order.len() <= 2 * MAX_MESSAGES && recent.seen.len() == 2, "{}", recent.order.len());
        assert!(recent.is_repeated("first", 0));
    }
}
