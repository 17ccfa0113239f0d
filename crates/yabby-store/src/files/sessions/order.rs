//! Which records changed last. It is kept beside the records, so that whoever wants the newest few of ten thousand
//! looks at no others.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use yabby_domain::session::key::SessionKey;

use super::catalog::{Catalog, Record};

/// The keys of all records, those that changed last first, and among equals those that were begun first.
#[derive(Debug, Default)]
pub(super) struct Order(BTreeMap<Place, SessionKey>);

/// When a record changed, and as which it was begun.
type Place = (Reverse<u64>, u64);

impl Order {
    pub(super) fn of(catalog: &Catalog) -> Self {
        let mut order = Self::default();
        for (key, record) in catalog.records() {
            order.add(key, record);
        }
        order
    }

    /// A record came, or was replaced by another one, or went.
    pub(super) fn replace(&mut self, key: &Arc<str>, before: Option<&Record>, after: Option<&Record>) {
        if let Some(place) = before.and_then(place) {
            self.0.remove(&place);
        }
        if let Some(after) = after {
            self.add(key, after);
        }
    }

    fn add(&mut self, key: &Arc<str>, record: &Record) {
        if let Some(place) = place(record) {
            self.0.insert(place, SessionKey::new(key.clone()));
        }
    }

    pub(super) fn newest_first(&self) -> impl Iterator<Item = &SessionKey> {
        self.0.values()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// `None` for a value that is no record.
fn place(record: &Record) -> Option<Place> {
    Some((Reverse(rank(record.changed_at()?)), record.number()))
}

/// A number that is as much larger than another one as its time is later.
fn rank(time: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    let bits = time.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_times_rank_higher() {
        let times = [f64::NEG_INFINITY, -2.5, -1.0, -0.0, 0.0, 1.0, 2.5, 1e13, f64::INFINITY];
        for pair in times.windows(2) {
            assert!(rank(pair[0]) < rank(pair[1]), "{pair:?}");
        }
    }
}
