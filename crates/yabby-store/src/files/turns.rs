//! The steps of turns in plain text: `turns/`, where every process that takes turns has a file of its own
//! (`sessions.md` §9, §18).
//!
//! The file is locked as long as its process lives. Whoever comes later and can take the lock knows that
//! its owner is no more, and goes on with what it left behind. A thread of its own, the [`writer`], does
//! all the work on a process's file; everybody else sends to it. What waits while the disk is busy goes
//! there together.

mod adopting;
mod looking;
mod name;
mod own_file;
mod reading;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use async_trait::async_trait;
use tokio::sync::oneshot;
use yabby_domain::seam::journal::{Journal, Promise};
use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::turn::{Record, TurnId};

use super::sessions::Notice;
use crate::clock::SystemClock;
use crate::disk::{Disk, Doing, LocalDisk, shown};
use writer::{Append, Message, Writer};

pub use looking::{JournalLook, TurnLook, look};
pub use name::{JournalName, Kind};

/// The journal of this process. Dropping the last handle waits for the disk, and removes the file if
/// nothing in it is unsettled.
#[derive(Clone)]
pub struct TurnJournal(Arc<Handle>);

struct Handle {
    path: PathBuf,
    sender: Sender<Message>,
    writer: Option<JoinHandle<()>>,
}

/// What a journal works with.
#[derive(Clone)]
pub struct Settings {
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    /// A file of more bytes is written anew without what is settled.
    pub limit: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { disk: Arc::new(LocalDisk), clock: Arc::new(SystemClock), limit: 1024 * 1024 }
    }
}

impl TurnJournal {
    /// The journal of this process in the folder, which need not exist. Nothing is read or written before
    /// the first question.
    pub fn open(folder: impl Into<PathBuf>, kind: Kind, settings: Settings) -> Result<Self, StoreError> {
        let folder = folder.into();
        // Whoever changes the current folder later does not mean this one.
        let folder = std::path::absolute(&folder).doing("resolve", &folder)?;
        let path = folder.join(JournalName::fresh(kind).file_name());
        let (sender, receiver) = mpsc::channel();
        let writer = Writer::new(path.clone(), kind, settings);
        let named = thread::Builder::new().name("turn journal".to_owned());
        let writer = named.spawn(move || writer.run(&receiver)).doing("start a thread for", &path)?;
        Ok(Self(Arc::new(Handle { path, sender, writer: Some(writer) })))
    }

    /// The file of this process; it is made with the first record.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What came up since this was last asked.
    pub fn notices(&self) -> Result<Vec<Notice>, StoreError> {
        self.blocking(|reply| Message::Notices { reply })
            .map(|notices| notices.into_iter().map(Notice).collect())
    }

    /// Lets go of the journal without holding up a runtime. Dropping the last handle waits for the disk.
    pub async fn close(self) {
        // If the runtime is going down, nothing was to be waited for.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }

    /// As [`Journal::append`], for callers that may block.
    pub fn append_blocking(&self, records: Vec<Record>, promise: Promise) -> Result<(), StoreError> {
        self.blocking(|reply| Message::Append(Append::new(records, promise, reply)))?
    }

    /// As [`Journal::replay`], for callers that may block.
    pub fn replay_blocking(&self) -> Result<Vec<Record>, StoreError> {
        self.blocking(|reply| Message::Replay { reply })?
    }

    fn blocking<T>(&self, message: impl FnOnce(oneshot::Sender<T>) -> Message) -> Result<T, StoreError> {
        self.ask(message)?.blocking_recv().map_err(|_| self.closed())
    }

    async fn waiting<T>(&self, message: impl FnOnce(oneshot::Sender<T>) -> Message) -> Result<T, StoreError> {
        self.ask(message)?.await.map_err(|_| self.closed())
    }

    fn ask<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<T>) -> Message,
    ) -> Result<oneshot::Receiver<T>, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.0.sender.send(message(reply)).map_err(|_| self.closed())?;
        Ok(answer)
    }

    fn closed(&self) -> StoreError {
        StoreError::Closed { path: shown(&self.0.path) }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _ = self.sender.send(Message::Close);
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

#[async_trait]
impl Journal for TurnJournal {
    async fn append(&self, records: Vec<Record>, promise: Promise) -> Result<(), StoreError> {
        self.waiting(|reply| Message::Append(Append::new(records, promise, reply))).await?
    }

    async fn replay(&self) -> Result<Vec<Record>, StoreError> {
        self.waiting(|reply| Message::Replay { reply }).await?
    }

    async fn records_of(&self, turn: &TurnId) -> Result<Vec<Record>, StoreError> {
        self.waiting(|reply| Message::Read { turn: turn.clone(), reply }).await?
    }
}
