//! Both update one store at once. Either creates sessions of its own, and puts fields of its own into a
//! record that both share.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use super::{Stage, Told, records};
use crate::peer::Peer;
use crate::snapshot::names;

/// Each is two updates: a record of its own, and a field of the shared one.
const ROUNDS: u64 = 250;
const SHARED: &str = "agent:main:shared";

pub fn both_at_once(stage: &Stage, judge: &mut Peer) -> Told {
    /// So many rounds as fast as it can; then it keeps the reference's pace, which is slower by far.
    const AT_FULL_SPEED: u64 = 50;
    let store = stage.folder()?.join("sessions.json");
    let mut yabby = begun(stage, judge, &store)?;
    judge.send(&storm(&store, "reference", 0..ROUNDS))?;
    yabby.ask(&storm(&store, "yabby", 0..AT_FULL_SPEED))?;
    for next in AT_FULL_SPEED..ROUNDS {
        updated(&judge.next()?).context("the reference ended before yabby")?;
        yabby.ask(&storm(&store, "yabby", next..next + 1))?;
    }
    judge.answer()?;
    yabby.end()?;
    ensure_nothing_lost(stage, judge, &store)
}

pub fn yabby_is_killed(stage: &Stage, judge: &mut Peer) -> Told {
    /// It begins so many rounds, and is killed in the middle of them.
    const AT_ONCE: u64 = 25;
    const KILLS: u64 = 50;
    let store = stage.folder()?.join("sessions.json");
    let mut yabby = begun(stage, judge, &store)?;
    judge.send(&storm(&store, "reference", 0..ROUNDS))?;
    let mut next = 0;
    let mut killed = 0;
    while next < ROUNDS {
        updated(&judge.next()?).context("the reference ended before yabby")?;
        if next < killed * ROUNDS / KILLS {
            yabby.ask(&storm(&store, "yabby", next..next + 1))?;
            next += 1;
            continue;
        }
        yabby.send(&storm(&store, "yabby", next..ROUNDS.min(next + AT_ONCE)))?;
        next = updated(&yabby.next()?).context("yabby did not begin")?;
        for said in yabby.kill()? {
            next = updated(&said).unwrap_or(next);
        }
        killed += 1;
        yabby = stage.yabby()?;
    }
    judge.answer()?;
    // Whoever opens the store next writes what the dead left in the journal.
    yabby.ask(&json!({ "do": "close", "store": store }))?;
    yabby.end()?;
    Ok(format!("{}, killed {killed} times", ensure_nothing_lost(stage, judge, &store)?))
}

/// The round after the one that this event acknowledges.
fn updated(said: &Value) -> Option<u64> {
    if said["event"] == "updated" { Some(said["number"].as_u64()? + 1) } else { None }
}

fn begun(stage: &Stage, judge: &mut Peer, store: &Path) -> Result<Peer> {
    let shared = json!({ SHARED: { "sessionId": "shared", "updatedAt": 1 } });
    judge.ask(&json!({ "do": "save", "store": store, "text": shared.to_string() }))?;
    stage.yabby()
}

fn storm(store: &Path, who: &str, rounds: std::ops::Range<u64>) -> Value {
    let count = rounds.end - rounds.start;
    json!({ "do": "storm", "store": store, "who": who, "first": rounds.start, "count": count, "shared": SHARED })
}

fn ensure_nothing_lost(stage: &Stage, judge: &mut Peer, store: &Path) -> Told {
    let left = names(&stage.folder()?)?;
    ensure!(left == ["sessions.json"], "left behind: {left:?}");
    let text = std::fs::read_to_string(store)?;
    let saved: Map<String, Value> = serde_json::from_str(&text).context("sessions.json is no JSON")?;
    let mut missing = Vec::new();
    for who in ["reference", "yabby"] {
        for round in 0..ROUNDS {
            if saved.get(&format!("agent:main:{who}:{round}")).is_none_or(|record| record[who] != round) {
                missing.push(format!("record {round} of {who}"));
            }
            if saved[SHARED].get(format!("{who}{round}")) != Some(&round.into()) {
                missing.push(format!("field {round} of {who}"));
            }
        }
    }
    ensure!(missing.is_empty(), "{} updates are lost: {}", missing.len(), missing.join(", "));
    let (ours, theirs) = (records(&mut stage.yabby()?, store)?, records(judge, store)?);
    ensure!(ours == theirs, "the two read different records");
    Ok(format!("{} updates", ROUNDS * 4))
}
