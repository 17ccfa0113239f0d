//! Stories of locks: each side keeps off what the other holds, and nobody waits for the dead.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Stage, Told, records};
use crate::peer::Peer;

/// Long enough for somebody who does not wait to be noticed.
const A_WHILE: Duration = Duration::from_millis(700);

pub fn of_the_dead(stage: &Stage, judge: &mut Peer) -> Told {
    let store = stage.folder()?.join("sessions.json");
    let transcript = stage.folder()?.join("t.jsonl");
    let mut holder = stage.mortal_judge()?;
    holder.ask(&json!({ "do": "hold", "store": store }))?;
    holder.ask(&json!({ "do": "holdTranscript", "file": transcript, "timeout": 1000 }))?;
    holder.kill()?;
    for lock in ["sessions.json.lock", "t.jsonl.lock"] {
        ensure!(stage.folder()?.join(lock).exists(), "the dead left no {lock}");
    }
    let mut yabby = stage.yabby()?;
    yabby.ask(&update(&store, "yabby"))?;
    yabby.ask(&json!({ "do": "close", "store": store }))?;
    let steps = json!([super::conversations::user("a"), super::conversations::assistant("b")]);
    yabby.ask(&json!({ "do": "write", "file": transcript, "session": "t", "cwd": "/w", "steps": steps }))?;
    ensure!(records(judge, &store)?.len() == 1, "the update is not in the store");
    ensure!(!stage.folder()?.join("sessions.json.lock").exists(), "the lock is still there");
    Ok(String::new())
}

pub fn of_a_store(stage: &Stage, judge: &mut Peer) -> Told {
    let store = stage.folder()?.join("sessions.json");
    let mut yabby = stage.yabby()?;

    judge.ask(&json!({ "do": "hold", "store": store }))?;
    yabby.ask(&update(&store, "yabby")).context("an update needs no lock to be durable")?;
    yabby.send(&json!({ "do": "close", "store": store }))?;
    ensure_waits(&mut yabby, "yabby")?;
    ensure!(!store.exists(), "yabby wrote a store that the reference holds");
    judge.ask(&json!({ "do": "release", "store": store }))?;
    yabby.answer()?;

    yabby.ask(&json!({ "do": "hold", "store": store }))?;
    judge.send(&update(&store, "reference"))?;
    ensure_waits(judge, "the reference")?;
    yabby.ask(&json!({ "do": "release", "store": store }))?;
    judge.answer()?;
    let seen = records(&mut yabby, &store)?;
    // The update of either, and the one that yabby was writing while it held the lock.
    ensure!(seen.len() == 3, "yabby sees {seen:?}");
    Ok(String::new())
}

pub fn of_a_transcript(stage: &Stage, judge: &mut Peer) -> Told {
    let file = stage.folder()?.join("t.jsonl");
    let mut yabby = stage.yabby()?;
    let steps = json!([super::conversations::user("a"), super::conversations::assistant("b")]);
    let write = json!({ "do": "write", "file": file, "session": "t", "cwd": "/w", "steps": steps });

    judge.ask(&json!({ "do": "holdTranscript", "file": file, "timeout": 1000 }))?;
    yabby.send(&write)?;
    ensure_waits(&mut yabby, "yabby")?;
    ensure!(!file.exists(), "yabby wrote a transcript that the reference holds");
    judge.ask(&json!({ "do": "releaseTranscript", "file": file }))?;
    yabby.answer()?;

    yabby.ask(&json!({ "do": "holdTranscript", "file": file }))?;
    let refused = judge.ask(&json!({ "do": "holdTranscript", "file": file, "timeout": 500 }));
    let refused = refused.err().context("the reference took a lock that yabby holds")?.to_string();
    ensure!(refused.contains("session file locked"), "{refused}");
    yabby.ask(&json!({ "do": "releaseTranscript", "file": file }))?;
    judge.ask(&json!({ "do": "holdTranscript", "file": file, "timeout": 1000 }))?;
    judge.ask(&json!({ "do": "releaseTranscript", "file": file }))?;
    Ok(String::new())
}

fn update(store: &std::path::Path, who: &str) -> Value {
    let set = json!({ "sessionId": who, "updatedAt": 1 });
    json!({ "do": "update", "store": store, "key": format!("agent:main:{who}"), "set": set })
}

fn ensure_waits(peer: &mut Peer, who: &str) -> Result<()> {
    let answer = peer.answer_within(A_WHILE)?;
    ensure!(answer.is_none(), "{who} did not wait for the lock");
    Ok(())
}
