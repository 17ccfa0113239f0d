//! A memory that is kept up with its files while a process stays (`memory.md` §4.3).
//!
//! Our own index is told of every change, so that a search reads what is new and looks at nothing else. The
//! reference's is brought up to date when its rules say so: some time after a note was written, when a
//! transcript has grown enough, at intervals, when a conversation begins.

use std::collections::HashSet;
use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use yabby_domain::recollection::Remembered;
use yabby_domain::seam::recollection::{Asked, Recollection};

use crate::compat::files::Source;
use crate::compat::{CompatIndex, Reason, Reference};
use crate::memory::Memory;
use crate::news::Told;
use crate::settings::SyncSettings;
use crate::watch::Watch;

/// What transcripts did is collected for so long.
const COLLECTED: Duration = Duration::from_secs(5);

/// Keeps a memory up with its files until it is dropped. Then whoever searches looks at the files again.
///
/// A memory has one at a time.
#[must_use = "a memory is kept up for as long as this is kept"]
pub struct Upkeep {
    memory: Memory,
    task: JoinHandle<()>,
    is_watching: bool,
}

impl Upkeep {
    /// Begins to keep a memory up, and the reference's index if there is one. What has changed before is read
    /// first. On a runtime only.
    pub fn begin(memory: &Memory, sync: SyncSettings, reference: Option<Reference>) -> Self {
        let (listener, told) = unbounded_channel();
        memory.news().listen(Some(listener));
        let watch = sync.watch.then(|| Watch::begin(memory.places(), memory.news().clone()));
        let watch = watch.and_then(|watch| {
            let unheard = |problem: &notify::Error| {
                tracing::warn!(%problem, "the memory's files cannot be watched: each search looks at all of them");
            };
            watch.inspect_err(unheard).ok()
        });
        let is_watching = watch.is_some();
        memory.listen_to(watch.map(Arc::new));
        let round = Round {
            memory: memory.clone(),
            sync,
            reference: None,
            is_watching,
            notes_due: None,
            grown_due: None,
            next_interval: after_minutes(sync.interval_minutes),
            grown: HashSet::new(),
            begun: HashSet::new(),
            running: None,
            wanted: None,
        };
        Self { memory: memory.clone(), task: tokio::spawn(round.run(reference, told)), is_watching }
    }

    /// Whether changes are heard of; otherwise each search looks at all files.
    pub fn is_watching(&self) -> bool {
        self.is_watching
    }
}

/// Whoever holds it to ask keeps the memory up.
#[async_trait]
impl Recollection for Upkeep {
    async fn recollect(&self, asked: Asked) -> Vec<Remembered> {
        self.memory.recollect(asked).await
    }

    async fn catch_up(&self) {
        Recollection::catch_up(&self.memory).await;
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.task.abort();
        self.memory.news().listen(None);
        self.memory.listen_to(None);
    }
}

fn after_minutes(minutes: f64) -> Option<Instant> {
    let wait = Duration::try_from_secs_f64(minutes * 60.0).ok().filter(|wait| !wait.is_zero());
    Instant::now().checked_add(wait?)
}

/// What is to be done, and when.
struct Round {
    memory: Memory,
    sync: SyncSettings,
    reference: Option<CompatIndex>,
    is_watching: bool,
    /// Notes have changed, and nothing has for a while then.
    notes_due: Option<Instant>,
    grown_due: Option<Instant>,
    next_interval: Option<Instant>,
    /// Transcripts that were written, by file name.
    grown: HashSet<String>,
    /// The conversations whose start was a reason to look for changes.
    begun: HashSet<String>,
    /// The sync of the reference's index that runs, and why there is to be another one.
    running: Option<JoinHandle<()>>,
    wanted: Option<Reason>,
}

impl Round {
    async fn run(mut self, reference: Option<Reference>, mut told: UnboundedReceiver<Told>) {
        if let Some(reference) = reference {
            match reference.index().await {
                Ok(index) => self.reference = Some(index.clone()),
                Err(error) => tracing::warn!(%error, "OpenClaw's index is not kept up"),
            }
        }
        self.catch_up();
        loop {
            tokio::select! {
                told = told.recv() => match told {
                    Some(told) => self.hear(told),
                    None => return,
                },
                () = at(self.notes_due) => self.notes_changed(),
                () = at(self.grown_due) => self.transcripts_grew().await,
                () = at(self.next_interval) => self.time_has_passed(),
                () = ended(&mut self.running) => {
                    self.running = None;
                    self.bring_up();
                }
            }
        }
    }

    fn hear(&mut self, told: Told) {
        match told {
            Told::Notes | Told::Something => self.notes_due = Some(Instant::now() + self.debounce()),
            Told::Transcript(name) => {
                self.grown.insert(name);
                self.grown_due.get_or_insert_with(|| Instant::now() + COLLECTED);
            }
            Told::Begins(name) => self.conversation_begins(name),
        }
    }

    fn debounce(&self) -> Duration {
        Duration::try_from_secs_f64(self.sync.watch_debounce_ms / 1000.0).unwrap_or_default()
    }

    /// Nothing was written for a while.
    fn notes_changed(&mut self) {
        self.notes_due = None;
        self.catch_up();
        if let Some(index) = &self.reference {
            index.mark_dirty();
            self.want(Reason::Watch);
        }
    }

    async fn transcripts_grew(&mut self) {
        self.grown_due = None;
        let grown = std::mem::take(&mut self.grown);
        // What other programs wrote; our own was read as it was written.
        self.catch_up();
        let Some(index) = self.reference.clone().filter(has_sessions) else { return };
        let folder = self.memory.places().transcripts.clone();
        let files: Vec<PathBuf> = grown.into_iter().map(|name| folder.join(name)).collect();
        let mut is_due = false;
        for file in files {
            // Whatever cannot be read now is found out by the next sync.
            is_due |= index.session_grew(&file).await.unwrap_or(false);
        }
        if is_due {
            self.want(Reason::SessionDelta);
        }
    }

    fn time_has_passed(&mut self) {
        self.next_interval = after_minutes(self.sync.interval_minutes);
        // A watcher does not hear everything: other machines write to shared disks.
        self.look_at_everything();
        if let Some(index) = &self.reference {
            index.mark_dirty();
            self.want(Reason::Interval);
        }
    }

    fn conversation_begins(&mut self, name: String) {
        if !self.sync.on_session_start || !self.begun.insert(name) {
            return;
        }
        if !self.is_watching {
            self.look_at_everything();
        }
        self.want(Reason::SessionStart);
    }

    fn look_at_everything(&self) {
        let memory = self.memory.clone();
        tokio::spawn(async move {
            if let Err(error) = memory.sync(&|_| {}).await {
                tracing::warn!(%error, "what is new was not indexed");
            }
            memory.catch_up().await;
        });
    }

    fn catch_up(&self) {
        let memory = self.memory.clone();
        tokio::spawn(async move { memory.catch_up().await });
    }

    fn want(&mut self, reason: Reason) {
        self.wanted = match self.wanted {
            // Those two leave transcripts for later, so that any other reason comes before them.
            Some(known) if matches!(reason, Reason::Watch | Reason::SessionStart) => Some(known),
            _ => Some(reason),
        };
        self.bring_up();
    }

    /// Brings the reference's index up to date, one time after the other.
    fn bring_up(&mut self) {
        if self.running.is_some() {
            return;
        }
        if let (Some(index), Some(reason)) = (&self.reference, self.wanted.take()) {
            let index = index.clone();
            self.running = Some(tokio::spawn(async move {
                // It says itself in the log why it failed; the next occasion is another chance.
                let _ = index.sync(reason, false, None).await;
            }));
        }
    }
}

fn has_sessions(index: &CompatIndex) -> bool {
    index.settings().sources.contains(&Source::Sessions)
}

async fn at(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => pending().await,
    }
}

async fn ended(running: &mut Option<JoinHandle<()>>) {
    match running {
        Some(running) => {
            // Whatever became of it, it runs no more.
            let _ = running.await;
        }
        None => pending().await,
    }
}
