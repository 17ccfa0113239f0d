//! What of a journal of turns is worth keeping, and how journals become one (`sessions.md` §9, §18).
//!
//! A turn that is not settled keeps every record. Of one that was settled a short while ago it is enough
//! to know that it was, and what a repeated delivery of its message is recognised by. The rest is
//! forgotten.

use indexmap::IndexMap;

use std::sync::Arc;

use super::{Accepted, Record, Step, TurnId};
use crate::inbound::recent::{LIFETIME_MS, MAX_MESSAGES};

/// The records that are kept, turn by turn in the order in which they were accepted, each one's in the
/// order in which they were written. Of settled turns only as many are remembered as messages are. Turns for
/// which `must_stay` have records in another journal: they are not forgotten, however long ago they were settled.
/// Any other turn that was not accepted says nothing, and is not kept.
///
/// Of a turn that is settled no more is held on the way than what is remembered of it.
pub fn retained(
    records: impl IntoIterator<Item = Record>,
    now: i64,
    must_stay: impl Fn(&TurnId) -> bool,
) -> impl Iterator<Item = Record> {
    let mut turns: IndexMap<TurnId, Turn> = IndexMap::new();
    for record in records {
        turns.entry(record.turn.clone()).or_default().take(record);
    }
    let mut kept: Vec<(i64, Turn)> = Vec::new();
    let mut settled: Vec<(i64, i64, Turn)> = Vec::new();
    for (id, turn) in turns {
        let must_stay = must_stay(&id);
        match (&turn.accepted, &turn.settled) {
            (Some(accepted), Some(end)) if !must_stay => {
                if now.saturating_sub(end.at) < LIFETIME_MS && accepted.dedupe.is_some() {
                    settled.push((end.at, accepted.at, turn));
                }
            }
            (Some(accepted), _) => kept.push((accepted.at, turn)),
            (None, end) if must_stay => {
                let first = end.as_ref().or(turn.records.first());
                kept.push((first.map_or(now, |record| record.at), turn));
            }
            (None, _) => {}
        }
    }
    settled.sort_by_key(|(ended, ..)| *ended);
    let too_many = settled.len().saturating_sub(MAX_MESSAGES);
    kept.extend(settled.into_iter().skip(too_many).map(|(_, at, turn)| (at, turn)));
    kept.sort_by_key(|(at, _)| *at);
    kept.into_iter().flat_map(|(_, turn)| turn.into_records())
}

/// What is held of a turn while a journal is read.
#[derive(Default)]
struct Turn {
    accepted: Option<Acceptance>,
    settled: Option<Record>,
    /// All records, unless it is settled.
    records: Vec<Record>,
}

/// That a message was accepted, without the message.
struct Acceptance {
    turn: TurnId,
    at: i64,
    session_key: String,
    /// What a repeated delivery of the message is recognised by; without it there is nothing to remember.
    dedupe: Option<String>,
}

impl Turn {
    fn take(&mut self, record: Record) {
        match &record.step {
            Step::Accepted(accepted) if self.accepted.is_none() => {
                let Accepted { session_key, dedupe, .. } = &**accepted;
                let (session_key, dedupe) = (session_key.clone(), dedupe.clone());
                let (turn, at) = (record.turn.clone(), record.at);
                self.accepted = Some(Acceptance { turn, at, session_key, dedupe });
            }
            Step::Settled { .. } => {
                self.records = Vec::new();
                self.settled = Some(record);
                return;
            }
            _ => {}
        }
        if self.settled.is_none() {
            self.records.push(record);
        }
    }

    fn into_records(self) -> impl Iterator<Item = Record> {
        let accepted = self.accepted.filter(|_| self.settled.is_some()).map(Acceptance::into_record);
        accepted.into_iter().chain(self.settled).chain(self.records)
    }
}

impl Acceptance {
    fn into_record(self) -> Record {
        let Self { turn, at, session_key, dedupe } = self;
        let known = Accepted { session_key, dedupe, ..Accepted::default() };
        Record::new(&turn, at, Step::Accepted(Arc::new(known)))
    }
}

/// The records of several journals, in each of which there may be a part of a turn: a process that goes on with a turn
/// writes what comes next into its own journal. A record that is in several journals counts once.
pub fn merged(journals: impl IntoIterator<Item = Vec<Record>>) -> Vec<Record> {
    let mut turns: IndexMap<TurnId, Vec<Vec<Record>>> = IndexMap::new();
    for journal in journals {
        for (turn, records) in by_turn(journal) {
            turns.entry(turn).or_default().push(records);
        }
    }
    let mut all = Vec::new();
    for (_, mut versions) in turns {
        // The acceptance comes first; of what is the beginning of another part nothing is left over.
        versions.sort_by_key(|records| {
            let is_accepted = records.iter().any(|record| matches!(record.step, Step::Accepted(_)));
            let first = records.first().map_or(i64::MAX, |record| record.at);
            (!is_accepted, first, std::cmp::Reverse(records.len()))
        });
        let mut versions = versions.into_iter();
        let mut whole = versions.next().unwrap_or_default();
        for record in versions.flatten() {
            if !whole.contains(&record) {
                whole.push(record);
            }
        }
        // What is remembered of a settled turn is written behind its end when the journal of its beginning goes.
        whole.sort_by_key(|record| !matches!(record.step, Step::Accepted(_)));
        all.append(&mut whole);
    }
    all
}

fn by_turn(records: impl IntoIterator<Item = Record>) -> IndexMap<TurnId, Vec<Record>> {
    let mut turns: IndexMap<TurnId, Vec<Record>> = IndexMap::new();
    for record in records {
        turns.entry(record.turn.clone()).or_default().push(record);
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbound::InboundMessage;
    use crate::turn::Outcome;

    const MINUTE: i64 = 60_000;

    fn accepted(turn: &str, minute: i64) -> Record {
        let message = InboundMessage { body: Some("hello".to_owned()), ..InboundMessage::default() };
        let dedupe = Some(format!("d-{turn}"));
        let accepted =
            Accepted { session_key: "agent:main:main".to_owned(), message, dedupe, ..Accepted::default() };
        Record::new(&TurnId::new(turn), minute * MINUTE, Step::Accepted(Arc::new(accepted)))
    }

    fn begun(turn: &str, minute: i64) -> Record {
        Record::new(&TurnId::new(turn), minute * MINUTE, Step::Begun { run: TurnId::new(turn) })
    }

    fn settled(turn: &str, minute: i64) -> Record {
        Record::new(&TurnId::new(turn), minute * MINUTE, Step::Settled { outcome: Outcome::Answered })
    }

    fn told(records: &[Record]) -> Vec<String> {
        let word = |step: &Step| match step {
            Step::Accepted(accepted) if accepted.message.body.is_some() => "accepted",
            Step::Accepted(_) => "stub",
            Step::Begun { .. } => "begun",
            Step::Settled { .. } => "settled",
            _ => "other",
        };
        records.iter().map(|record| format!("{} {}", record.turn, word(&record.step))).collect()
    }

    #[test]
    fn unsettled_turns_stay_whole_and_settled_ones_are_forgotten_after_a_while() {
        let journal = || {
            vec![
                accepted("later", 9),
                accepted("waits", 1),
                accepted("done", 2),
                begun("later", 9),
                settled("done", 10),
            ]
        };
        let waiting = ["waits accepted", "later accepted", "later begun"];
        let remembered = ["waits accepted", "done stub", "done settled", "later accepted", "later begun"];
        //  minute  must stay   kept
        let table = [
            (10, false, &remembered[..]),
            (29, false, &remembered[..]),
            (30, false, &waiting[..]),
            (30, true, &remembered[..]),
            // The clock was put back.
            (5, false, &remembered[..]),
        ];
        for (minute, must_stay, kept) in table {
            let retained = retained(journal(), minute * MINUTE, |_| must_stay);
            assert_eq!(told(&retained.collect::<Vec<_>>()), kept, "{minute} {must_stay}");
        }
        let known: Vec<Record> = retained(journal(), 10 * MINUTE, |_| false).collect();
        let Step::Accepted(stub) = &known[1].step else { panic!("{known:?}") };
        assert_eq!((stub.session_key.as_str(), stub.dedupe.as_deref()), ("agent:main:main", Some("d-done")));
    }

    #[test]
    fn a_turn_that_began_in_another_journal_stays_as_long_as_that_does() {
        let went_on = || vec![begun("a", 2), begun("b", 2), settled("b", 3)];
        let kept: Vec<Record> = retained(went_on(), 90 * MINUTE, |turn| turn.as_str() != "c").collect();
        assert_eq!(told(&kept), ["a begun", "b settled"]);
        assert_eq!(retained(went_on(), 4 * MINUTE, |_| false).count(), 0);
    }

    #[test]
    fn of_many_settled_turns_the_latest_are_remembered() {
        let turn = |at: i64| [accepted(&at.to_string(), 1), Record { at, ..settled(&at.to_string(), 1) }];
        let most = MAX_MESSAGES as i64;
        let records = retained((0..most + 3).flat_map(turn), 9, |turn| turn.as_str() == "1");
        let turns = by_turn(records);
        assert_eq!(turns.len(), MAX_MESSAGES + 1);
        let is_known = |turn: i64| turns.contains_key(&TurnId::new(turn.to_string()));
        assert_eq!([0, 1, 2, 3, most + 2].map(is_known), [false, true, false, true, true]);
    }

    #[test]
    fn a_copy_that_was_not_finished_adds_nothing() {
        let whole = vec![accepted("a", 1), begun("a", 2), accepted("b", 3)];
        let torn = vec![accepted("a", 1)];
        let went_on = vec![accepted("a", 1), begun("a", 2), settled("a", 3)];
        let rewritten = retained(went_on.clone(), 4 * MINUTE, |_| true).collect();
        //  journals                                     together
        let table = [
            (vec![torn.clone(), whole.clone()], vec!["a accepted", "a begun", "b accepted"]),
            (vec![whole.clone(), went_on], vec!["a accepted", "a begun", "a settled", "b accepted"]),
            (vec![rewritten, whole], vec!["a stub", "a accepted", "a settled", "a begun", "b accepted"]),
            // What is remembered of a turn was written down behind its end.
            (vec![vec![settled("a", 3), accepted("a", 1)]], vec!["a accepted", "a settled"]),
            (vec![torn.clone(), torn.clone()], vec!["a accepted"]),
            // A process that went on with the turn has the rest of it.
            (vec![vec![begun("a", 2), settled("a", 3)], torn], vec!["a accepted", "a begun", "a settled"]),
        ];
        for (journals, together) in table {
            assert_eq!(told(&merged(journals)), together);
        }
    }
}
