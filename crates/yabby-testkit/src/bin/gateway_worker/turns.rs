//! Turns of sessions that are stored.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Result;
use crate::client::{Client, is_first, payload};
use crate::program::{Memory, Program};

#[derive(Clone, Copy)]
pub enum Through {
    Agent,
    Chat,
}

/// How long turns take from the request to the end of the answer. What it costs to begin is no part of it.
pub async fn one_by_one(client: &mut Client, turns: usize, through: Through) -> Result<Vec<f64>> {
    let mut times = Vec::with_capacity(turns);
    for number in 0..turns {
        if number == 0 {
            take(client, through, "first").await?;
        }
        let begun = Instant::now();
        take(client, through, &number.to_string()).await?;
        times.push(begun.elapsed().as_secs_f64());
    }
    Ok(times)
}

async fn take(client: &mut Client, through: Through, name: &str) -> Result<()> {
    match through {
        Through::Agent => {
            let told = client.ask("agent", &message(0, &format!("agent-{name}"))).await?;
            if told["status"] == "ok" { Ok(()) } else { Err(told.to_string().into()) }
        }
        Through::Chat => {
            let run = format!("chat-{name}");
            let params =
                json!({"message": "Hello?", "sessionKey": key(1), "deliver": false, "idempotencyKey": run});
            client.ask("chat.send", &params).await?;
            let is_over = |frame: &Value| {
                let (event, payload) = (&frame["event"], &frame["payload"]);
                *event == "chat" && payload["runId"] == *run && payload["state"] != "delta"
            };
            let last = client.frame_where(is_over).await?;
            if last["payload"]["state"] == "final" { Ok(()) } else { Err(last.to_string().into()) }
        }
    }
}

/// The turns whose time is read together.
const WINDOW: usize = 20;

/// What turns of one conversation cost in seconds of processor time, on average of the last 20 up to each mark.
pub async fn long_conversation(client: &mut Client, marks: &[usize], program: &Program) -> Result<Vec<f64>> {
    let mut costs = Vec::with_capacity(marks.len());
    let mut before = program.processor_time()?;
    for number in 1..=marks.last().copied().unwrap_or_default() {
        let ends = marks.contains(&number);
        if marks.contains(&(number + WINDOW - 1)) {
            before = program.processor_time()?;
        }
        let name = format!("long-{number}");
        let params = json!({"message": "How are you on this fine day?", "sessionKey": "agent:main:long", "deliver": false, "idempotencyKey": name});
        let told = client.ask("agent", &params).await?;
        if told["status"] != "ok" {
            return Err(told.to_string().into());
        }
        if ends {
            #[expect(clippy::cast_precision_loss, reason = "few")]
            costs.push((program.processor_time()? - before) / WINDOW.min(number) as f64);
        }
    }
    Ok(costs)
}

/// The memory of the gateway after so many turns of its life, which are taken in many sessions in rotation.
pub async fn memory_growth(
    client: &mut Client,
    marks: &[usize],
    sessions: usize,
    program: &Program,
) -> Result<Vec<Memory>> {
    let mut memory = Vec::with_capacity(marks.len());
    for number in 1..=marks.last().copied().unwrap_or_default() {
        let told =
            client.ask("agent", &message(number % sessions.max(1), &format!("grows-{number}"))).await?;
        if told["status"] != "ok" {
            return Err(told.to_string().into());
        }
        if marks.contains(&number) {
            memory.push(program.memory()?);
        }
    }
    Ok(memory)
}

/// What a turn writes to the disk, in bytes, and costs in seconds of processor time, if people take their time.
pub async fn paced(
    client: &mut Client,
    turns: usize,
    pause: Duration,
    program: &Program,
) -> Result<Option<Value>> {
    if turns == 0 {
        return Ok(None);
    }
    // What it costs to begin is no part of it.
    client.ask("agent", &message(0, "paced-first")).await?;
    client.rest(pause).await?;
    let (written, time) = (program.written()?, program.processor_time()?);
    for number in 0..turns {
        client.ask("agent", &message(0, &format!("paced-{number}"))).await?;
        client.rest(pause).await?;
    }
    #[expect(clippy::cast_precision_loss, reason = "nobody writes that much")]
    let bytes = (program.written()? - written) as f64 / turns as f64;
    #[expect(clippy::cast_precision_loss, reason = "few")]
    let time = (program.processor_time()? - time) / turns as f64;
    Ok(Some(json!({"bytes": bytes, "time": time})))
}

/// Turns in several sessions, each of which begins its next one when the last is over: turns a second, or why there
/// are none, and the most memory that was seen meanwhile.
pub async fn at_once(
    client: &mut Client,
    turns: usize,
    sessions: usize,
    program: &Program,
) -> Result<(Value, Memory)> {
    const LOOK_EVERY: usize = 20;
    let mut memory = program.memory()?;
    if turns == 0 {
        return Ok((Value::Null, memory));
    }
    let mut running: HashMap<String, usize> = HashMap::new();
    let begun = Instant::now();
    let (mut asked, mut done) = (0, 0);
    for session in 0..sessions.min(turns) {
        let id = client.send("agent", &message(session, &format!("many-{asked}"))).await?;
        running.insert(id, session);
        asked += 1;
    }
    while done < turns {
        let is_answer = |frame: &Value| frame["type"] == "res" && !is_first(frame);
        let frame = client.frame_where(is_answer).await?;
        let Some(session) = frame["id"].as_str().and_then(|id| running.remove(id)) else { continue };
        if let Err(error) = payload(frame) {
            return Ok((error.to_string().into(), memory));
        }
        done += 1;
        if done % LOOK_EVERY == 0 {
            memory = memory.max(program.memory()?);
        }
        if asked < turns {
            let id = client.send("agent", &message(session, &format!("many-{asked}"))).await?;
            running.insert(id, session);
            asked += 1;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "nobody waits for that many")]
    let rate = done as f64 / begun.elapsed().as_secs_f64();
    Ok((rate.into(), memory.max(program.memory()?)))
}

fn message(session: usize, name: &str) -> Value {
    json!({"message": "Hello?", "sessionKey": key(session), "deliver": false, "idempotencyKey": name})
}

fn key(session: usize) -> String {
    format!("agent:main:telegram:dm:{session}")
}
