//! Wrong secrets slow down whoever shows them: an address may be wrong some times, and then its attempts are judged one at
//! a time, ever more slowly.
//!
//! An attempt is not judged before its turn comes: an answer that came at once would tell which secret was right.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::unpoisoned;

/// How often one may be wrong before anything is slowed down.
const FREE: u32 = 8;
/// The time between two attempts after that; it doubles until it is as long as the other.
const SHORTEST: Duration = Duration::from_millis(125);
const LONGEST: Duration = Duration::from_secs(1);
/// Whoever would have to wait for longer is sent away.
pub(crate) const MOST_WAIT: Duration = Duration::from_secs(3);
/// When nothing was wrong for so long, everything is forgotten.
const MEMORY: Duration = Duration::from_secs(120);
/// So many addresses are known; then the one that was wrong longest ago is forgotten.
const MOST_ADDRESSES: usize = 1024;

#[derive(Default)]
pub(crate) struct BackOff(Mutex<HashMap<IpAddr, Attempts>>);

struct Attempts {
    /// How many were wrong.
    count: u32,
    last: Instant,
    /// When the next one is judged, and how long after it another one.
    next: Instant,
    pause: Duration,
}

/// Too many wait already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl BackOff {
    /// Whether attempts of an address are slowed down.
    pub(crate) fn is_slow(&self, address: IpAddr, now: Instant) -> bool {
        let known = unpoisoned(&self.0);
        known.get(&prefix(address)).is_some_and(|known| known.is_fresh(now) && known.count >= FREE)
    }

    /// How long an attempt waits before it is judged; it may be no longer than `patience`.
    pub(crate) fn turn(
        &self,
        address: IpAddr,
        now: Instant,
        patience: Duration,
    ) -> Result<Duration, TooMany> {
        let mut known = unpoisoned(&self.0);
        let slow = known.get_mut(&prefix(address)).filter(|known| known.is_fresh(now) && known.count >= FREE);
        let Some(attempts) = slow else { return Ok(Duration::ZERO) };
        let turn = attempts.next.max(now);
        let wait = turn.saturating_duration_since(now);
        if wait > patience {
            return Err(TooMany);
        }
        attempts.next = turn + attempts.pause;
        attempts.pause = (attempts.pause * 2).min(LONGEST);
        Ok(wait)
    }

    /// A secret was wrong.
    pub(crate) fn note_wrong(&self, address: IpAddr, now: Instant) {
        let mut known = unpoisoned(&self.0);
        let address = prefix(address);
        if known.len() >= MOST_ADDRESSES && !known.contains_key(&address) {
            known.retain(|_, attempts| attempts.is_fresh(now));
            let oldest = known.iter().min_by_key(|(_, attempts)| attempts.last).map(|(oldest, _)| *oldest);
            if let Some(oldest) = oldest.filter(|_| known.len() >= MOST_ADDRESSES) {
                known.remove(&oldest);
            }
        }
        let attempts = known.entry(address).or_insert(Attempts::new(now));
        if !attempts.is_fresh(now) {
            *attempts = Attempts::new(now);
        }
        attempts.count = attempts.count.saturating_add(1);
        attempts.last = now;
    }

    /// What was noted last was another secret, which is right.
    pub(crate) fn forgive(&self, address: IpAddr) {
        let mut known = unpoisoned(&self.0);
        if let Some(attempts) = known.get_mut(&prefix(address)) {
            attempts.count = attempts.count.saturating_sub(1);
        }
    }
}

impl Attempts {
    fn new(now: Instant) -> Self {
        Self { count: 0, last: now, next: now, pause: SHORTEST }
    }

    fn is_fresh(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) < MEMORY
    }
}

/// What belongs to one network of a person's: an address, and of the long ones the first half.
fn prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(long) if !long.is_loopback() => {
            let bits = long.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(bits))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn wrong_secrets_are_slowed_down_and_many_at_once_sent_away() {
        let (back_off, now) = (BackOff::default(), Instant::now());
        for _ in 0..FREE {
            assert_eq!(back_off.turn(address(1), now, MOST_WAIT), Ok(Duration::ZERO));
            back_off.note_wrong(address(1), now);
        }
        assert!(back_off.is_slow(address(1), now) && !back_off.is_slow(address(2), now));
        // Those that come at the same moment stand in line, as long as that is no longer than it may be.
        let waits: Vec<_> = (0..1000).map(|_| back_off.turn(address(1), now, MOST_WAIT)).collect();
        let judged = waits.iter().flatten().count();
        assert!((3..12).contains(&judged), "{judged}");
        assert!(waits.iter().flatten().all(|wait| *wait <= MOST_WAIT));
        assert_eq!(waits[999], Err(TooMany));
        assert_eq!(back_off.turn(address(1), now, Duration::ZERO), Err(TooMany));
        // Somebody elsewhere waits for nobody, and in a while nobody does.
        assert_eq!(back_off.turn(address(2), now, MOST_WAIT), Ok(Duration::ZERO));
        assert_eq!(back_off.turn(address(1), now + MEMORY, Duration::ZERO), Ok(Duration::ZERO));
    }

    #[test]
    fn an_hour_of_guessing_tells_few_secrets_apart() {
        let (back_off, began) = (BackOff::default(), Instant::now());
        let mut judged = 0;
        for millisecond in (0..3_600_000).step_by(10) {
            let now = began + Duration::from_millis(millisecond);
            if back_off.turn(address(1), now, MOST_WAIT).is_ok() {
                back_off.note_wrong(address(1), now);
                judged += 1;
            }
        }
        assert!(judged < 3700, "{judged}");
    }

    #[test]
    fn a_device_that_shows_a_token_of_its_own_was_not_wrong() {
        let (back_off, now) = (BackOff::default(), Instant::now());
        for _ in 0..1000 {
            assert_eq!(back_off.turn(address(1), now, MOST_WAIT), Ok(Duration::ZERO));
            back_off.note_wrong(address(1), now);
            back_off.forgive(address(1));
        }
    }

    #[test]
    fn the_table_does_not_grow() {
        let (back_off, now) = (BackOff::default(), Instant::now());
        for number in 0..5000_u128 {
            let address = IpAddr::V6(Ipv6Addr::from_bits(number << 64));
            back_off.note_wrong(address, now);
        }
        assert_eq!(unpoisoned(&back_off.0).len(), MOST_ADDRESSES);
        // Whoever has a whole network is one.
        let [one, other] = ["2001:db8::1", "2001:db8::2"].map(|text| prefix(text.parse().unwrap()));
        assert_eq!(one, other);
    }
}
