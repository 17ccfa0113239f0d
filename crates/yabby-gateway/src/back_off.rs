//! Wrong secrets slow down whoever shows them: an address may be wrong some times, and then its attempts are judged one at
//! a time, ever more slowly.
//!
//! An attempt is not judged before its turn comes: an answer that came at once would tell which secret was right.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
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
/// So many addresses are told apart; the others count as one.
const MOST_ADDRESSES: usize = 1024;

#[derive(Default)]
pub(crate) struct BackOff {
    networks: Mutex<HashMap<IpAddr, Attempts>>,
    /// Devices that are paired stand in no line with others of their address, but in one of their own: one that may do
    /// little must not guess a secret that does more.
    devices: Mutex<HashMap<String, Attempts>>,
}

struct Attempts {
    /// How many were wrong.
    count: u32,
    last: Instant,
    /// When the next one is judged, and how long after it another one.
    next: Instant,
    pause: Duration,
}

/// All addresses that the table has no room for, together.
const REST: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Too many wait already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl BackOff {
    /// Whether attempts of an address are slowed down.
    pub(crate) fn is_slow(&self, address: IpAddr, now: Instant) -> bool {
        let known = unpoisoned(&self.networks);
        known.get(&place(&known, address)).is_some_and(|known| known.is_slow(now))
    }

    /// How long an attempt waits before it is judged; it may be no longer than `patience`.
    pub(crate) fn turn(
        &self,
        address: IpAddr,
        now: Instant,
        patience: Duration,
    ) -> Result<Duration, TooMany> {
        let mut known = unpoisoned(&self.networks);
        let place = place(&known, address);
        known.get_mut(&place).map_or(Ok(Duration::ZERO), |attempts| attempts.turn(now, patience))
    }

    /// The same for a device that is paired.
    pub(crate) fn turn_of_device(
        &self,
        device: &str,
        now: Instant,
        patience: Duration,
    ) -> Result<Duration, TooMany> {
        let mut known = unpoisoned(&self.devices);
        known.get_mut(device).map_or(Ok(Duration::ZERO), |attempts| attempts.turn(now, patience))
    }

    /// A secret was wrong.
    pub(crate) fn note_wrong(&self, address: IpAddr, now: Instant) {
        let mut known = unpoisoned(&self.networks);
        if known.len() >= MOST_ADDRESSES {
            known.retain(|_, attempts| attempts.is_fresh(now));
        }
        let place = place(&known, address);
        known.entry(place).or_insert(Attempts::new(now)).note_wrong(now);
    }

    /// The same for a device that is paired.
    pub(crate) fn note_wrong_of_device(&self, device: &str, now: Instant) {
        let mut known = unpoisoned(&self.devices);
        known.retain(|_, attempts| attempts.is_fresh(now));
        known.entry(device.to_owned()).or_insert(Attempts::new(now)).note_wrong(now);
    }

    /// What was noted last was another secret, which is right.
    pub(crate) fn forgive(&self, address: IpAddr) {
        let mut known = unpoisoned(&self.networks);
        let place = place(&known, address);
        if let Some(attempts) = known.get_mut(&place) {
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

    fn is_slow(&self, now: Instant) -> bool {
        self.is_fresh(now) && self.count >= FREE
    }

    fn turn(&mut self, now: Instant, patience: Duration) -> Result<Duration, TooMany> {
        if !self.is_slow(now) {
            return Ok(Duration::ZERO);
        }
        let turn = self.next.max(now);
        let wait = turn.saturating_duration_since(now);
        if wait > patience {
            return Err(TooMany);
        }
        self.next = turn + self.pause;
        self.pause = (self.pause * 2).min(LONGEST);
        Ok(wait)
    }

    fn note_wrong(&mut self, now: Instant) {
        if !self.is_fresh(now) {
            *self = Self::new(now);
        }
        self.count = self.count.saturating_add(1);
        self.last = now;
    }
}

/// Where an address is counted. Nobody is forgotten for others: who has ever new addresses would never be slowed down.
fn place(known: &HashMap<IpAddr, Attempts>, address: IpAddr) -> IpAddr {
    let address = prefix(address);
    if known.len() < MOST_ADDRESSES || known.contains_key(&address) { address } else { REST }
}

/// What belongs to one network of a person's: an address, of the long ones the first half, and this machine, which has
/// sixteen million of them.
fn prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        here if here.is_loopback() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(long) => {
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
        assert_eq!(unpoisoned(&back_off.networks).len(), MOST_ADDRESSES + 1);
        // Ever new addresses are slowed down together; those that were there before are not touched by it.
        let [new, old] = [1_000_000_u128, 1].map(|number| IpAddr::V6(Ipv6Addr::from_bits(number << 64)));
        assert!(back_off.is_slow(new, now) && !back_off.is_slow(old, now));
        back_off.note_wrong(new, now + MEMORY);
        assert_eq!(unpoisoned(&back_off.networks).len(), 1);
        assert!(!back_off.is_slow(new, now + MEMORY));
        // Whoever has a whole network is one.
        let [one, other] = ["2001:db8::1", "2001:db8::2"].map(|text| prefix(text.parse().unwrap()));
        assert_eq!(one, other);
        let here =
            ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.2"].map(|text| prefix(text.parse().unwrap()));
        assert!(here.iter().all(|address| *address == here[0]), "{here:?}");
    }

    #[test]
    fn a_device_stands_in_a_line_of_its_own() {
        let (back_off, now) = (BackOff::default(), Instant::now());
        for _ in 0..1000 {
            back_off.note_wrong(address(1), now);
            assert_eq!(back_off.turn_of_device("mine", now, Duration::ZERO), Ok(Duration::ZERO));
            back_off.note_wrong_of_device("guest", now);
        }
        let judged = (0..1000).filter(|_| back_off.turn_of_device("guest", now, MOST_WAIT).is_ok()).count();
        assert!(judged < 12, "{judged}");
    }
}
