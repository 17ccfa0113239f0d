//! Stories about the steps of turns.

use std::collections::HashSet;
use std::sync::Arc;

use yabby_domain::inbound::InboundMessage;
use yabby_domain::seam::journal::{Journal, Promise};
use yabby_domain::turn::{Accepted, Outcome, Record, Step, TurnId, progress};

/// A place where processes leave the steps of their turns.
pub trait Turns: Send + Sync {
    /// The journal of another process. One that holds more than a few hundred records forgets those of
    /// settled turns.
    fn journal(&self) -> Arc<dyn Journal>;

    /// Moves the clock.
    fn advance(&self, millis: i64);

    /// Of what was left behind, the last record was not written to its end.
    fn tear(&self);

    /// How much all journals hold.
    fn bytes(&self) -> usize;
}

/// The time at which the clock of a place begins.
pub const BEGIN: i64 = 1_768_469_400_000;

const MINUTE: i64 = 60_000;

/// Tells every story; `place` gives an empty one to each.
pub async fn tell(place: impl Fn() -> Box<dyn Turns>) {
    nothing_is_there_at_first(&*place()).await;
    steps_come_back_in_their_order(&*place()).await;
    whatever_is_written_at_once_is_all_there(&*place()).await;
    settled_turns_are_remembered_for_a_while(&*place()).await;
    living_processes_keep_their_turns(&*place()).await;
    what_is_left_behind_is_adopted_once(&*place()).await;
    turns_of_many_processes_come_in_the_order_of_their_messages(&*place()).await;
    an_adopted_turn_that_is_settled_does_not_come_back(&*place()).await;
    a_step_that_was_not_written_to_its_end_is_none(&*place()).await;
    journals_stay_small_and_lose_nothing(&*place()).await;
    what_is_not_settled_stays_however_much_it_is(&*place()).await;
}

/// A message, of which there is one in each turn.
pub fn accepted(turn: &str, at: i64) -> Record {
    let message = InboundMessage { body: Some(format!("hello {turn}")), ..InboundMessage::default() };
    let accepted = Accepted {
        session_key: "agent:main:main".to_owned(),
        message,
        dedupe: Some(format!("telegram|{turn}")),
        ..Accepted::default()
    };
    Record::new(&TurnId::new(turn), at, Step::Accepted(Arc::new(accepted)))
}

pub fn tool_begun(turn: &str, call: &str, at: i64) -> Record {
    let step = Step::ToolBegun { call: call.to_owned(), tool: "write".to_owned() };
    Record::new(&TurnId::new(turn), at, step)
}

pub fn settled(turn: &str, at: i64) -> Record {
    Record::new(&TurnId::new(turn), at, Step::Settled { outcome: Outcome::Answered })
}

fn unsettled(records: &[Record]) -> Vec<String> {
    let turns = progress(records.iter().cloned());
    turns.iter().filter(|(_, turn)| turn.settled.is_none()).map(|(id, _)| id.to_string()).collect()
}

async fn append(journal: &dyn Journal, records: impl IntoIterator<Item = Record>) {
    journal.append(records.into_iter().collect(), Promise::Durable).await.unwrap();
}

async fn replay(journal: &dyn Journal) -> Vec<Record> {
    journal.replay().await.expect("a journal")
}

async fn nothing_is_there_at_first(place: &dyn Turns) {
    let journal = place.journal();
    assert_eq!(replay(&*journal).await, []);
    append(&*journal, []).await;
    assert_eq!(replay(&*journal).await, []);
}

async fn steps_come_back_in_their_order(place: &dyn Turns) {
    let journal = place.journal();
    let steps = [
        accepted("a", BEGIN),
        Record::new(&TurnId::new("a"), BEGIN, Step::Begun { run: TurnId::new("a") }),
        tool_begun("a", "2", BEGIN),
        tool_begun("a", "1", BEGIN),
        Record::new(&TurnId::new("a"), BEGIN, Step::ToolEnded { call: "1".to_owned() }),
    ];
    for (at, step) in steps.iter().enumerate() {
        let promise = if at % 2 == 0 { Promise::Durable } else { Promise::Written };
        journal.append(vec![step.clone()], promise).await.unwrap();
    }
    assert_eq!(replay(&*journal).await, steps);
    drop(journal);
    assert_eq!(replay(&*place.journal()).await, steps);
}

async fn whatever_is_written_at_once_is_all_there(place: &dyn Turns) {
    let journal = place.journal();
    let mut tasks = Vec::new();
    for task in 0..16 {
        let journal = journal.clone();
        tasks.push(tokio::spawn(async move {
            let turn = format!("turn-{task:02}");
            append(&*journal, [accepted(&turn, BEGIN + task)]).await;
            for call in 0..8 {
                let promise = if call % 3 == 0 { Promise::Durable } else { Promise::Written };
                let step = tool_begun(&turn, &call.to_string(), BEGIN);
                journal.append(vec![step], promise).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let turns = progress(replay(&*journal).await);
    assert_eq!(turns.len(), 16);
    for (at, (id, turn)) in turns.iter().enumerate() {
        assert_eq!(id.as_str(), format!("turn-{at:02}"));
        let calls: Vec<&str> = turn.tools.keys().map(String::as_str).collect();
        assert_eq!(calls, ["0", "1", "2", "3", "4", "5", "6", "7"], "{id}");
    }
}

async fn settled_turns_are_remembered_for_a_while(place: &dyn Turns) {
    let journal = place.journal();
    append(&*journal, [accepted("done", BEGIN), accepted("open", BEGIN), settled("done", BEGIN)]).await;
    place.advance(19 * MINUTE);
    let turns = progress(replay(&*journal).await);
    let done = &turns[&TurnId::new("done")];
    assert_eq!(
        (done.settled, done.accepted.dedupe.as_deref()),
        (Some(Outcome::Answered), Some("telegram|done"))
    );
    assert_eq!((done.accepted.session_key.as_str(), &done.accepted.message.body), ("agent:main:main", &None));
    assert_eq!(turns[&TurnId::new("open")].accepted.message.body.as_deref(), Some("hello open"));
    place.advance(MINUTE);
    assert_eq!(replay(&*journal).await, [accepted("open", BEGIN)]);
}

async fn living_processes_keep_their_turns(place: &dyn Turns) {
    let (one, other) = (place.journal(), place.journal());
    append(&*one, [accepted("one", BEGIN)]).await;
    append(&*other, [accepted("other", BEGIN)]).await;
    assert_eq!(unsettled(&replay(&*one).await), ["one"]);
    assert_eq!(unsettled(&replay(&*other).await), ["other"]);
    assert_eq!(replay(&*place.journal()).await, []);
}

async fn what_is_left_behind_is_adopted_once(place: &dyn Turns) {
    let lost = place.journal();
    append(&*lost, [accepted("a", BEGIN), tool_begun("a", "1", BEGIN)]).await;
    drop(lost);
    let (one, other) = (place.journal(), place.journal());
    let steps = [accepted("a", BEGIN), tool_begun("a", "1", BEGIN)];
    assert_eq!(replay(&*one).await, steps);
    assert_eq!(replay(&*other).await, []);
    assert_eq!(replay(&*one).await, steps);
    drop(one);
    assert_eq!(replay(&*other).await, steps);
    assert_eq!(replay(&*place.journal()).await, []);
}

async fn turns_of_many_processes_come_in_the_order_of_their_messages(place: &dyn Turns) {
    for (process, times) in [[1, 5], [4, 2], [3, 0]].into_iter().enumerate() {
        let journal = place.journal();
        for at in times {
            append(&*journal, [accepted(&format!("{at}-of-{process}"), BEGIN + at)]).await;
        }
    }
    let heir = place.journal();
    append(&*heir, [accepted("9-own", BEGIN + 9)]).await;
    let order = unsettled(&replay(&*heir).await);
    assert_eq!(order, ["0-of-2", "1-of-0", "2-of-1", "3-of-2", "4-of-1", "5-of-0", "9-own"]);
}

async fn an_adopted_turn_that_is_settled_does_not_come_back(place: &dyn Turns) {
    append(&*place.journal(), [accepted("a", BEGIN), accepted("b", BEGIN)]).await;
    let heir = place.journal();
    assert_eq!(unsettled(&replay(&*heir).await), ["a", "b"]);
    append(&*heir, [settled("a", BEGIN)]).await;
    drop(heir);
    let heir = place.journal();
    let turns = progress(replay(&*heir).await);
    assert_eq!(turns[&TurnId::new("a")].settled, Some(Outcome::Answered));
    assert_eq!(turns[&TurnId::new("b")].settled, None);
    append(&*heir, [settled("b", BEGIN)]).await;
    drop(heir);
    let turns = progress(replay(&*place.journal()).await);
    let mut known: Vec<_> =
        turns.values().map(|turn| (turn.settled, turn.accepted.dedupe.as_deref())).collect();
    known.sort_by_key(|(_, dedupe)| *dedupe);
    let answered = Some(Outcome::Answered);
    let wanted = [(answered, Some("telegram|a")), (answered, Some("telegram|b"))];
    assert_eq!(known, wanted, "what may be delivered again is known after a clean end, too");
}

async fn a_step_that_was_not_written_to_its_end_is_none(place: &dyn Turns) {
    append(&*place.journal(), [accepted("a", BEGIN), tool_begun("a", "1", BEGIN)]).await;
    place.tear();
    let heir = place.journal();
    assert_eq!(replay(&*heir).await, [accepted("a", BEGIN)]);
    append(&*heir, [tool_begun("a", "2", BEGIN)]).await;
    assert_eq!(replay(&*heir).await, [accepted("a", BEGIN), tool_begun("a", "2", BEGIN)]);
}

async fn journals_stay_small_and_lose_nothing(place: &dyn Turns) {
    let journal = place.journal();
    append(&*journal, [accepted("open", BEGIN), tool_begun("open", "1", BEGIN)]).await;
    let mut most = 0;
    for minute in 0..1000 {
        let (turn, at) = (format!("turn-{minute}"), BEGIN + minute * MINUTE);
        let steps = vec![accepted(&turn, at), tool_begun(&turn, "1", at), settled(&turn, at)];
        journal.append(steps, Promise::Written).await.unwrap();
        place.advance(MINUTE);
        most = most.max(place.bytes());
    }
    assert!(most < 150_000, "{most} bytes");
    assert_eq!(unsettled(&replay(&*journal).await), ["open"]);
    drop(journal);
    let records = replay(&*place.journal()).await;
    assert_eq!(unsettled(&records), ["open"]);
    assert!(records.contains(&tool_begun("open", "1", BEGIN)));
    let settled_lately = progress(records).len() - 1;
    assert_eq!(settled_lately, 19, "those of the last twenty minutes");
}

async fn what_is_not_settled_stays_however_much_it_is(place: &dyn Turns) {
    let journal = place.journal();
    for at in 0..1000 {
        let steps = vec![accepted(&format!("turn-{at}"), BEGIN + at)];
        journal.append(steps, Promise::Written).await.unwrap();
    }
    drop(journal);
    let records = replay(&*place.journal()).await;
    let turns: HashSet<String> = unsettled(&records).into_iter().collect();
    assert_eq!((turns.len(), records.len()), (1000, 1000));
}
