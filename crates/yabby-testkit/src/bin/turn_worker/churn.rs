//! A victim: it hears messages as fast as it can until it is killed, and says which ones were accepted.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use yabby_domain::inbound::InboundMessage;
use yabby_engine::{Engine, Submission, SubmitOutcome};
use yabby_store::disk::LocalDisk;

use crate::engine::open;
use crate::{Result, say};

#[derive(Deserialize)]
struct Orders {
    folder: PathBuf,
    /// Sent again: nobody said that they were accepted.
    again: Vec<Order>,
    /// Sent now, one after the other.
    messages: Vec<Order>,
}

/// A message: its name, and who writes it where.
#[derive(Clone, Deserialize)]
struct Order {
    name: String,
    channel: String,
    peer: String,
}

pub async fn churn() -> Result<()> {
    let mut orders = String::new();
    std::io::stdin().read_line(&mut orders)?;
    let orders: Orders = serde_json::from_str(&orders)?;
    let ground = open(&orders.folder, Arc::new(LocalDisk), Duration::from_micros(700))?;
    say(&json!({"begun": true}))?;
    let recovered = ground.engine.recover().await?;
    say(&json!({"recovered": recovered.len()}))?;
    for order in orders.again.iter().chain(&orders.messages) {
        hear(&ground.engine, order).await?;
        tokio::time::sleep(Duration::from_micros(400)).await;
    }
    ground.engine.idle(Duration::from_secs(60)).await;
    say(&json!({"idle": true}))?;
    // Whoever started us ends us.
    std::future::pending::<()>().await;
    Ok(())
}

async fn hear(engine: &Engine, order: &Order) -> Result<()> {
    let Order { name, channel, peer } = order;
    let message = InboundMessage {
        body: Some(format!("<{name}>")),
        from: Some(format!("{channel}:{peer}")),
        to: Some(format!("{channel}:{peer}")),
        provider: Some(channel.clone()),
        surface: Some(channel.clone()),
        originating_channel: Some(channel.clone()),
        originating_to: Some(peer.clone()),
        chat_type: Some("direct".to_owned()),
        sender_id: Some(peer.clone()),
        message_id: Some(name.clone()),
        session_key: Some(format!("agent:main:{channel}:dm:{peer}")),
        command_authorized: true,
        ..InboundMessage::default()
    };
    match engine.submit(Submission { message, ..Submission::default() }).await? {
        SubmitOutcome::Accepted(_) => say(&json!({"accepted": name})),
        SubmitOutcome::Repeated => say(&json!({"repeated": name})),
        SubmitOutcome::Overheard | SubmitOutcome::NotServed => {
            Err("a direct message was not taken in".into())
        }
    }
}

/// Ends everything that is left to do in a folder.
pub async fn finish(folder: &Path) -> Result<()> {
    let ground = open(folder, Arc::new(LocalDisk), Duration::ZERO)?;
    let recovered = ground.engine.recover().await?.len();
    if !ground.engine.idle(Duration::from_secs(120)).await {
        return Err("some turns never end".into());
    }
    drop(ground.engine);
    ground.journal.close().await;
    say(&json!({"recovered": recovered}))
}
