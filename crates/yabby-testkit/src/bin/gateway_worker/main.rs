//! Measures a gateway from outside, ours or another one, as `cargo xtask bench gateway` and `bench turns` want it: starts it
//! beside a model that answers at once, and is its clients. Nothing else uses it.
//!
//! It runs on one thread, so that it takes the same share of the machine from every gateway.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it has to say goes to its pipe")]

mod client;
mod crowd;
mod model;
mod orders;
mod program;
mod turns;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use client::Client;
use orders::Orders;
use program::Program;

const USAGE: &str = "usage: gateway_worker HOME ORDERS PROGRAM [ARGUMENT…]

ORDERS is a JSON object; see orders.rs.";

/// How many sessions are listed; the smallest store has as many, so that only what is stored makes a difference.
const LISTED: usize = 10;

/// Whatever went wrong; whoever asked only wants its text.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [home, orders, program @ ..] = words.as_slice() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match measured(Path::new(home), orders, program) {
        Ok(told) => {
            println!("{told}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measured(home: &Path, orders: &str, program: &[String]) -> Result<Value> {
    let orders: Orders = serde_json::from_str(orders)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(home, &orders, program))
}

async fn measure(home: &Path, orders: &Orders, words: &[String]) -> Result<Value> {
    let model = model::serve().await?;
    program::configure(home, model)?;
    let mut starts = Vec::new();
    for _ in 1..orders.starts {
        let (time, _, _) = start(home, words).await?;
        starts.push(time);
    }
    let (time, program, mut client) = start(home, words).await?;
    starts.push(time);
    client.rest(orders.settle()).await?;
    let idle = program.memory()?;
    let list = asked(&mut client, orders.lists, "sessions.list", &json!({"limit": LISTED})).await?;
    let whole_list = asked(&mut client, orders.whole_lists, "sessions.list", &json!({})).await?;
    let list_rate = rate(&mut client, orders.many_lists, "sessions.list", &json!({"limit": LISTED})).await?;
    let status = asked(&mut client, orders.lists, "status", &json!({})).await?;
    let agent = turns::one_by_one(&mut client, orders.agent, turns::Through::Agent).await?;
    let chat = turns::one_by_one(&mut client, orders.chat, turns::Through::Chat).await?;
    let (rate, load) = turns::at_once(&mut client, orders.at_once, orders.talking, &program).await?;
    client.rest(orders.settle()).await?;
    let after = program.memory()?;
    let long = turns::long_conversation(&mut client, &orders.long_conversation, &program).await?;
    let growth =
        turns::memory_growth(&mut client, &orders.memory_marks, orders.memory_sessions, &program).await?;
    let paced = turns::paced(&mut client, orders.paced, orders.pause(), &program).await?;
    let crowd = crowd::measure(&mut client, orders.clients, orders.broadcasts, &program).await?;
    Ok(json!({
        "starts": starts,
        "idle": idle,
        "list": list,
        "wholeList": whole_list,
        "listRate": list_rate,
        "status": status,
        "agent": agent,
        "chat": chat,
        "rate": rate,
        "load": load,
        "after": after,
        "longConversation": long,
        "memoryGrowth": growth,
        "paced": paced,
        "crowd": crowd,
    }))
}

/// Starts a gateway; how long it took until it said hello.
async fn start(home: &Path, words: &[String]) -> Result<(f64, Program, Client)> {
    const PATIENCE: Duration = Duration::from_secs(120);
    let begun = Instant::now();
    let mut program = Program::start(home, words)?;
    loop {
        if let Ok(client) = Client::connect().await {
            return Ok((begun.elapsed().as_secs_f64(), program, client));
        }
        program.still_runs()?;
        if begun.elapsed() > PATIENCE {
            return Err("nobody said hello".into());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// How many answers come a second, if several are always wanted.
async fn rate(client: &mut Client, times: usize, method: &str, params: &Value) -> Result<Option<f64>> {
    const WANTED: usize = 16;
    if times == 0 {
        return Ok(None);
    }
    let begun = Instant::now();
    let mut asked = 0;
    for _ in 0..WANTED.min(times) {
        client.prepare(method, params).await?;
        asked += 1;
    }
    for _ in 0..times {
        // Only whether it is an answer is looked at: reading it all would measure the reader.
        while !client.text_or_ask().await?.starts_with(r#"{"type":"res""#) {}
        if asked < times {
            client.prepare(method, params).await?;
            asked += 1;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "nobody waits for that many")]
    let rate = times as f64 / begun.elapsed().as_secs_f64();
    Ok(Some(rate))
}

/// How long answers take, one after the other; the first is not counted.
async fn asked(client: &mut Client, times: usize, method: &str, params: &Value) -> Result<Vec<f64>> {
    if times > 0 {
        client.ask(method, params).await?;
    }
    let mut seconds = Vec::with_capacity(times);
    for _ in 0..times {
        let begun = Instant::now();
        client.ask(method, params).await?;
        seconds.push(begun.elapsed().as_secs_f64());
    }
    Ok(seconds)
}
