//! Many clients, and something that all of them are told.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::Result;
use crate::client::Client;
use crate::program::Program;

/// How many clients knock at once.
const AT_ONCE: usize = 50;
/// How long a broadcast may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// By which clients know what they wait for.
const MARK: &str = "told to everybody, number ";

pub async fn measure(
    client: &mut Client,
    clients: usize,
    broadcasts: usize,
    program: &Program,
) -> Result<Value> {
    if clients == 0 {
        return Ok(Value::Null);
    }
    let (heard, mut ear) = unbounded_channel();
    let mut crowd = JoinSet::new();
    let begun = Instant::now();
    while crowd.len() < clients {
        let mut coming = JoinSet::new();
        for _ in 0..AT_ONCE.min(clients - crowd.len()) {
            coming.spawn(Client::connect());
        }
        while let Some(one) = coming.join_next().await {
            let (mut one, heard) = (one??, heard.clone());
            crowd.spawn(async move {
                while let Ok(text) = one.text().await {
                    if let Some(number) = broadcast_in(&text) {
                        let _ = heard.send(number);
                    }
                }
            });
        }
    }
    let connecting = begun.elapsed().as_secs_f64();
    // What the coming of so many set off is over by then.
    client.rest(Duration::from_secs(1)).await?;
    let mut times = Vec::with_capacity(broadcasts);
    for number in 0..broadcasts {
        let begun = Instant::now();
        client.send("system-event", &json!({"text": format!("{MARK}{number};")})).await?;
        timeout(PATIENCE, everybody(&mut ear, number, clients))
            .await
            .map_err(|_| format!("not everybody heard broadcast {number} within {PATIENCE:?}"))?;
        times.push(begun.elapsed().as_secs_f64());
        client.rest(Duration::from_millis(50)).await?;
    }
    Ok(json!({"connecting": connecting, "memory": program.memory()?, "broadcasts": times}))
}

/// The highest number in a text: what was told before may stand there as well.
fn broadcast_in(text: &str) -> Option<usize> {
    let numbers = text.split(MARK).skip(1);
    numbers.filter_map(|rest| rest.split_once(';')?.0.parse().ok()).max()
}

/// Waits until so many have heard a broadcast.
async fn everybody(ear: &mut UnboundedReceiver<usize>, number: usize, clients: usize) {
    let mut heard = 0;
    while heard < clients {
        match ear.recv().await {
            Some(told) if told == number => heard += 1,
            Some(_) => {}
            None => return,
        }
    }
}
