//! Lists of sessions that are kept as they were written, for as long as nothing that they tell has changed.
//!
//! Clients ask for the same lists again and again. Whether a list still holds is seen by the files that it comes
//! from; they are looked at once for all requests that came before, and read only if they are not what they were.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use yabby_domain::config::Config;
use yabby_domain::json::Value;
use yabby_domain::seam::Stamp;
use yabby_engine::AgentHome;

use crate::frames::Written;
use crate::{Gateway, unpoisoned};

/// How many lists are kept.
const MOST: usize = 8;
/// How long all of them may be together.
const LONGEST: usize = 8 * 1024 * 1024;

/// The lists that were asked for last. Shared by all connections; nobody holds them for longer than it takes to look.
#[derive(Default)]
pub(crate) struct Kept {
    lists: Mutex<VecDeque<List>>,
    /// How often somebody looked at files.
    looks: AtomicU64,
}

/// When a request came, counted in looks at files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

struct List {
    params: Value,
    seen: Seen,
    /// The look by which it still held: whatever came before that is answered by it.
    held_at: Moment,
    text: ListText,
}

/// The text of a list without the time at which it is told.
#[derive(Clone, Debug)]
pub(crate) struct ListText {
    /// What comes before the rows.
    pub(crate) head: String,
    /// The rows, and the end of the list. Everybody who is told the list shares them.
    pub(crate) rows: Arc<String>,
}

impl ListText {
    /// The list as it is told at a time.
    pub(crate) fn at(&self, ts: i64) -> Written {
        Written { start: format!("{{\"ts\":{ts},{}", self.head), rest: self.rows.clone() }
    }
}

/// What a list comes from.
pub(crate) struct Seen {
    config: Arc<Config>,
    /// Which agents there are.
    agents: Stamp,
    stores: Vec<(Arc<AgentHome>, Stamp)>,
}

impl Seen {
    /// What is there now; `None` if some store cannot say.
    fn now(gateway: &Gateway) -> Option<Self> {
        let config = gateway.config();
        let agents = gateway.place.folder.agents_stamp();
        let stores = gateway.stores().into_iter().map(|(agent, _)| {
            let home = gateway.engine.home(&agent).ok()?;
            let stamp = home.sessions.stamp()?;
            Some((home, stamp))
        });
        Some(Self { config, agents, stores: stores.collect::<Option<_>>()? })
    }

    fn still_holds(&self, gateway: &Gateway) -> bool {
        let is_same = |(home, stamp): &(Arc<AgentHome>, Stamp)| home.sessions.stamp() == Some(*stamp);
        Arc::ptr_eq(&self.config, &gateway.config())
            && self.agents == gateway.place.folder.agents_stamp()
            && self.stores.iter().all(is_same)
    }
}

/// What is known of a list before anybody makes it.
pub(crate) enum Known {
    /// It was made before, and still holds.
    Written(Written),
    /// It is to be made, and can be kept if it is: this is what it comes from.
    Keepable(Seen),
    /// It depends on more than records.
    Fleeting,
}

impl Kept {
    /// What has come by now came before every look that begins later.
    pub(crate) fn moment(&self) -> Moment {
        Moment(self.looks.load(Ordering::SeqCst))
    }

    fn next_look(&self) -> Moment {
        Moment(self.looks.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// What is known of a list that was asked for at some moment. Files are looked at once for all that came before.
    pub(crate) fn look(&self, gateway: &Gateway, params: &Value, came: Moment) -> Known {
        // These depend on what was said, or on the time.
        let fleeting = ["includeDerivedTitles", "includeLastMessage", "activeMinutes"];
        if fleeting.iter().any(|name| params.get(name).is_some()) {
            return Known::Fleeting;
        }
        let mut lists = unpoisoned(&self.lists);
        if let Some(at) = lists.iter().position(|list| list.params == *params)
            && let Some(mut list) = lists.remove(at)
        {
            let mut holds = came < list.held_at;
            if !holds {
                list.held_at = self.next_look();
                holds = list.seen.still_holds(gateway);
            }
            if holds {
                let written = list.text.at(gateway.now());
                lists.push_front(list);
                return Known::Written(written);
            }
        }
        drop(lists);
        Seen::now(gateway).map_or(Known::Fleeting, Known::Keepable)
    }

    /// Keeps a list that was made for a request that came at this moment, unless it is long.
    pub(crate) fn keep(&self, params: Value, seen: Seen, text: ListText, held_at: Moment) {
        if text.rows.len() > LONGEST {
            return;
        }
        let mut lists = unpoisoned(&self.lists);
        lists.push_front(List { params, seen, held_at, text });
        while lists.len() > MOST || lists.iter().map(|list| list.text.rows.len()).sum::<usize>() > LONGEST {
            lists.pop_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_are_kept_as_long_as_there_is_room() {
        let kept = Kept::default();
        let keep = |name: &str, length: usize| {
            let config = Arc::new(Config::new(json!({})));
            let seen = Seen { config, agents: Stamp::of(&0), stores: Vec::new() };
            let text = ListText { head: "\"sessions\":[".to_owned(), rows: Arc::new("x".repeat(length)) };
            kept.keep(json!(name), seen, text, kept.moment());
        };
        let kept_now =
            || unpoisoned(&kept.lists).iter().map(|list| list.params.clone()).collect::<Vec<Value>>();
        keep("a", LONGEST / 2);
        keep("b", LONGEST / 4);
        assert_eq!(kept_now(), ["b", "a"]);
        keep("c", LONGEST / 2);
        assert_eq!(kept_now(), ["c", "b"]);
        keep("too long", LONGEST + 1);
        assert_eq!(kept_now(), ["c", "b"]);
        (0..MOST).for_each(|_| keep("short", 1));
        assert_eq!(kept_now(), ["short"; MOST]);
    }
}
