//! What a turn costs besides the model, which answers at once.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use yabby_domain::inbound::InboundMessage;
use yabby_domain::principal::{Principal, ReplyTo};
use yabby_engine::{Engine, Submission, SubmitOutcome};
use yabby_store::disk::{Disk, LocalDisk};

use crate::engine::open;
use crate::{Result, say};

/// Takes `turns` turns in each of `parallel` sessions of a store that holds `sessions`, and says how long
/// each took, in seconds.
pub async fn measure(folder: &Path, sessions: &str, parallel: &str, turns: &str) -> Result<()> {
    let (sessions, parallel, turns): (usize, usize, usize) =
        (sessions.parse()?, parallel.parse()?, turns.parse()?);
    let disk = Arc::new(CountingDisk::default());
    let ground = open(folder, disk.clone(), Duration::ZERO)?;
    // What it costs to open a store, and to begin a conversation, is no part of a turn.
    for number in 0..parallel {
        turn(&ground.engine, number % sessions, number, 0).await?;
    }
    let (syncs, began) = (disk.syncs.load(Ordering::Relaxed), Instant::now());
    let writers = (0..parallel).map(|number| {
        let engine = ground.engine.clone();
        tokio::spawn(async move {
            let mut times = Vec::with_capacity(turns);
            for at in 1..=turns {
                let started = Instant::now();
                turn(&engine, number % sessions, number, at).await?;
                times.push(started.elapsed().as_secs_f64());
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(times)
        })
    });
    let mut times = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        times.extend(writer.await??);
    }
    let whole = began.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "few")]
    let syncs = (disk.syncs.load(Ordering::Relaxed) - syncs) as f64 / times.len() as f64;
    drop(ground.engine);
    ground.journal.close().await;
    say(&json!({"times": times, "whole": whole, "syncs": syncs}))
}

async fn turn(engine: &Engine, session: usize, number: usize, at: usize) -> Result<()> {
    let peer = session.to_string();
    let message = InboundMessage {
        body: Some(format!("<{number}-{at}>")),
        from: Some(format!("discord:{peer}")),
        session_key: Some(format!("agent:main:telegram:dm:{peer}")),
        message_id: Some(format!("{number}-{at}")),
        provider: Some("discord".to_owned()),
        originating_channel: Some("discord".to_owned()),
        originating_to: Some(peer),
        chat_type: Some("direct".to_owned()),
        command_authorized: true,
        ..InboundMessage::default()
    };
    let submission = Submission {
        principal: Principal::LocalOwner,
        reply_to: ReplyTo::Caller,
        message,
        ..Submission::default()
    };
    match engine.submit(submission).await? {
        SubmitOutcome::Accepted(ticket) => {
            let report = ticket.done.await?;
            match report.error {
                None => Ok(()),
                Some(error) => Err(error.into()),
            }
        }
        _ => Err("a message was not taken in".into()),
    }
}

/// A disk that counts how often it is waited for.
#[derive(Default)]
struct CountingDisk {
    syncs: AtomicU64,
}

impl CountingDisk {
    fn count(&self) -> &Self {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self
    }
}

impl Disk for CountingDisk {
    fn create_new(&self, path: &Path) -> io::Result<File> {
        LocalDisk.create_new(path)
    }

    fn open_append(&self, path: &Path) -> io::Result<File> {
        LocalDisk.open_append(path)
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        LocalDisk.write(file, bytes)
    }

    fn truncate(&self, file: &File, length: u64) -> io::Result<()> {
        LocalDisk.truncate(file, length)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.count();
        LocalDisk.sync(file)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.count();
        LocalDisk.sync_folder(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        LocalDisk.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        LocalDisk.rename_new(from, to)
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        LocalDisk.link(file, name)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        LocalDisk.remove(path)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.count();
        LocalDisk.create_folder(folder)
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        LocalDisk.set_mode(path, mode)
    }
}
