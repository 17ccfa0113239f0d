//! Stores that keep everything in memory: for tests of what stands on a store.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use yabby_domain::delivery;
use yabby_domain::seam::{
    Begin, Change, Clock, Compacted, ContextSize, Fork, Part, SessionStore, StoreError, TranscriptStore,
    TranscriptWriter, UndoneCompaction,
};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::Stamp;
use yabby_domain::transcript::context::Context;
use yabby_domain::transcript::file::TranscriptFile;
use yabby_domain::transcript::file_name::{ArchiveReason, TranscriptId, archive};
use yabby_domain::transcript::fork;
use yabby_domain::transcript::header::{Header, NewSession};
use yabby_domain::transcript::line_compact::{LineCompaction, MaxLines, RestoredFile, compact, restore};
use yabby_domain::transcript::lock::{Locked, TIMEOUT, lock_file};
use yabby_domain::transcript::tree::{BranchSummary, NewEntry, Transcript};
use yabby_domain::transcript::undo::{is_last_compaction, undo_compaction};

use crate::unpoisoned;

/// Records in memory. Copies share them.
#[derive(Clone, Default)]
pub struct MemorySessions(Arc<Mutex<Vec<(SessionKey, SessionEntry)>>>);

impl MemorySessions {
    pub fn keys(&self) -> Vec<String> {
        unpoisoned(&self.0).iter().map(|(key, _)| key.as_str().to_owned()).collect()
    }
}

#[async_trait]
impl SessionStore for MemorySessions {
    async fn newest(
        &self,
        choice: yabby_domain::seam::Choice,
    ) -> Result<yabby_domain::seam::Newest, StoreError> {
        Ok(yabby_domain::seam::Newest::of(self.list().await?, choice))
    }

    async fn select(
        &self,
        choice: yabby_domain::seam::Choice,
    ) -> Result<yabby_domain::seam::Selection, StoreError> {
        Ok(self.newest(choice).await?.into())
    }

    async fn get(&self, key: &SessionKey) -> Result<Option<SessionEntry>, StoreError> {
        let found = unpoisoned(&self.0).iter().find(|(name, _)| name == key).map(|(_, entry)| entry.clone());
        // As with a file, somebody else may change it before this is known.
        tokio::task::yield_now().await;
        Ok(found)
    }

    async fn list(&self) -> Result<Vec<(SessionKey, SessionEntry)>, StoreError> {
        Ok(unpoisoned(&self.0).clone())
    }

    /// A power failure spares nothing that is in memory only.
    async fn note(&self, key: &SessionKey, change: Change) -> Result<Option<SessionEntry>, StoreError> {
        self.update(key, change).await
    }

    async fn update(&self, key: &SessionKey, change: Change) -> Result<Option<SessionEntry>, StoreError> {
        let mut records = unpoisoned(&self.0);
        let place = records.iter().position(|(name, _)| name == key);
        let mut record = place.map(|at| records[at].1.clone());
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| change(&mut record)));
        made.map_err(|_| StoreError::ChangePanicked { key: key.as_str().to_owned() })?;
        if let Some(entry) = &mut record
            && let Some(patch) = delivery::normalize_entry(entry)
        {
            entry.apply(&patch);
        }
        match (place, &record) {
            (Some(at), Some(entry)) => records[at].1 = entry.clone(),
            (Some(at), None) => drop(records.remove(at)),
            (None, Some(entry)) => records.push((key.clone(), entry.clone())),
            (None, None) => {}
        }
        Ok(record)
    }
}

/// Conversations in memory. Copies share them.
#[derive(Clone)]
pub struct MemoryTranscripts {
    held: Arc<Mutex<Held>>,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct Held {
    /// The text of each, and when it was changed.
    texts: BTreeMap<TranscriptId, (String, u64)>,
    archived: BTreeMap<String, String>,
    writing: HashSet<TranscriptId>,
    changes: u64,
    ids: u64,
    /// Nothing can be appended.
    is_full: bool,
}

impl Held {
    fn put(&mut self, id: &TranscriptId, text: String) {
        self.changes += 1;
        self.texts.insert(id.clone(), (text, self.changes));
    }

    fn text(&self, id: &TranscriptId) -> Option<&str> {
        self.texts.get(id).map(|(text, _)| text.as_str())
    }

    /// Keeps a text under a name, with a number behind it if the name is taken; the name.
    fn archive(&mut self, name: String, text: String) -> String {
        let names = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}.{number}")));
        let free = names.into_iter().find(|name| !self.archived.contains_key(name)).unwrap_or(name);
        self.archived.insert(free.clone(), text);
        free
    }

    /// Numbers in the shape of UUIDs.
    fn fresh_id(&mut self) -> String {
        self.ids += 1;
        format!("{:08x}-0000-4000-8000-000000000000", self.ids)
    }
}

impl MemoryTranscripts {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { held: Arc::default(), clock }
    }

    /// Puts the text of a conversation there, whatever it says.
    pub fn put(&self, id: &TranscriptId, text: &str) {
        unpoisoned(&self.held).put(id, text.to_owned());
    }

    /// From now on there is no room for anything more, or there is again.
    pub fn set_full(&self, is_full: bool) {
        unpoisoned(&self.held).is_full = is_full;
    }

    /// Does something with a time and fresh ids.
    fn stamped<T>(&self, held: &mut Held, act: impl FnOnce(&mut Stamp<'_>) -> T) -> T {
        let mut fresh = || held.fresh_id();
        act(&mut Stamp { now: self.clock.now(), fresh_id: &mut fresh })
    }

    fn read(&self, id: &TranscriptId) -> Result<Option<Transcript>, StoreError> {
        let held = unpoisoned(&self.held);
        let damaged = || StoreError::Damaged { path: id.file_name(), what: "it has no header".to_owned() };
        held.text(id).map(|text| Transcript::read(text).ok_or_else(damaged)).transpose()
    }
}

#[async_trait]
impl TranscriptStore for MemoryTranscripts {
    async fn load(&self, id: &TranscriptId) -> Result<Option<Transcript>, StoreError> {
        self.read(id)
    }

    async fn context(&self, id: &TranscriptId) -> Result<Option<Context>, StoreError> {
        Ok(self.read(id)?.map(|transcript| transcript.context()))
    }

    async fn open(&self, id: &TranscriptId, begin: Begin) -> Result<Box<dyn TranscriptWriter>, StoreError> {
        let read = self.read(id)?;
        let mut held = unpoisoned(&self.held);
        if !held.writing.insert(id.clone()) {
            let lock_file = lock_file(&id.file_name());
            return Err(Locked { timeout: TIMEOUT, holder: None, lock_file }.into());
        }
        let transcript = read.unwrap_or_else(|| {
            let session =
                NewSession { id: &begin.session_id, cwd: &begin.cwd, parent: begin.parent.as_deref() };
            Transcript::new(Header::new(session, self.clock.now()))
        });
        drop(held);
        Ok(Box::new(MemoryWriter { store: self.clone(), id: id.clone(), transcript }))
    }

    async fn peek(&self, id: &TranscriptId, part: Part) -> Result<Option<Vec<u8>>, StoreError> {
        let held = unpoisoned(&self.held);
        Ok(held.text(id).map(|text| match part {
            Part::First(bytes) => text.as_bytes()[..bytes.min(text.len())].to_vec(),
            Part::Last(bytes) => text.as_bytes()[text.len().saturating_sub(bytes)..].to_vec(),
        }))
    }

    async fn fork(&self, id: &TranscriptId, how: Fork) -> Result<TranscriptId, StoreError> {
        let mut held = unpoisoned(&self.held);
        let name = id.file_name();
        let source = held.text(id).map(str::to_owned).ok_or_else(|| fork::NoSource(name.clone()))?;
        let made = self.stamped(&mut held, |stamp| -> Result<fork::Fork, StoreError> {
            let open = |stamp: &mut Stamp<'_>| TranscriptFile::open(Some(&source), "", stamp).0;
            Ok(match how {
                Fork::At(leaf) => fork::branch_off(&open(stamp), &name, &leaf, stamp)?,
                Fork::Leaf => fork::thread(&open(stamp), &name, stamp),
                Fork::Whole { cwd } => fork::fork_from(&source, &name, &cwd, stamp)?,
            })
        })?;
        let new = TranscriptId::of_file(&made.name)?;
        held.put(&new, made.text);
        Ok(new)
    }

    async fn compact(&self, id: &TranscriptId, keep: MaxLines) -> Result<Compacted, StoreError> {
        let mut held = unpoisoned(&self.held);
        let Some(whole) = held.text(id).map(str::to_owned) else { return Ok(Compacted::Missing) };
        Ok(match compact(&whole, keep) {
            LineCompaction::Untouched { kept } => Compacted::Untouched { kept },
            LineCompaction::Compacted { text, kept } => {
                let archived =
                    held.archive(archive(&id.file_name(), ArchiveReason::Backup, self.clock.now()), whole);
                held.put(id, text);
                Compacted::Done { kept, archived }
            }
        })
    }

    async fn undo_compaction(&self, id: &TranscriptId) -> Result<UndoneCompaction, StoreError> {
        let Some(transcript) = self.read(id)? else { return Ok(UndoneCompaction::Missing) };
        let dropped = {
            let mut held = unpoisoned(&self.held);
            let text = held.text(id).unwrap_or_default().to_owned();
            let prefix = format!("{}.bak.", id.file_name());
            let archived = held.archived.clone();
            let backups = archived.into_iter().rev().filter(|(name, _)| name.starts_with(&prefix));
            let mut dropped = backups.filter_map(|(name, whole)| {
                Some((name, self.stamped(&mut held, |stamp| restore(&text, &whole, stamp))?))
            });
            dropped.next()
        };
        if let Some((backup, lines)) = dropped.filter(|(_, lines)| is_last_compaction(lines, &transcript)) {
            let RestoredFile { text, restored, .. } = lines;
            unpoisoned(&self.held).put(id, text);
            let context = ContextSize::measure(&self.read(id)?.unwrap_or(transcript));
            return Ok(UndoneCompaction::Lines { restored, backup, context });
        }
        let Some(plan) = undo_compaction(&transcript) else { return Ok(UndoneCompaction::Nothing) };
        let begin = Begin { session_id: String::new(), cwd: String::new(), parent: None };
        let mut writer = self.open(id, begin).await?;
        writer.move_leaf(plan.leaf.as_deref()).await?;
        let ids = writer.append(plan.entries.clone()).await?;
        writer.append(plan.labels(&ids)).await?;
        let context = ContextSize::measure(writer.transcript());
        Ok(UndoneCompaction::Summary { copied: plan.copied(), compaction: plan.compaction, context })
    }

    async fn archive(&self, id: &TranscriptId, reason: ArchiveReason) -> Result<Option<String>, StoreError> {
        let mut held = unpoisoned(&self.held);
        let Some((text, _)) = held.texts.remove(id) else { return Ok(None) };
        Ok(Some(held.archive(archive(&id.file_name(), reason, self.clock.now()), text)))
    }

    async fn list(&self) -> Result<Vec<TranscriptId>, StoreError> {
        let held = unpoisoned(&self.held);
        let mut all: Vec<(u64, TranscriptId)> =
            held.texts.iter().map(|(id, (_, changed))| (*changed, id.clone())).collect();
        all.sort_by(|one, other| other.cmp(one));
        Ok(all.into_iter().map(|(_, id)| id).collect())
    }
}

struct MemoryWriter {
    store: MemoryTranscripts,
    id: TranscriptId,
    transcript: Transcript,
}

impl MemoryWriter {
    fn keep(&mut self) {
        let mut text = self.transcript.header().line() + "\n";
        for entry in self.transcript.entries() {
            text.push_str(entry.line());
            text.push('\n');
        }
        unpoisoned(&self.store.held).put(&self.id, text);
    }
}

#[async_trait]
impl TranscriptWriter for MemoryWriter {
    fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    async fn append(&mut self, entries: Vec<NewEntry>) -> Result<Vec<String>, StoreError> {
        if unpoisoned(&self.store.held).is_full {
            let source = Arc::new(io::Error::from(io::ErrorKind::StorageFull));
            return Err(StoreError::Io { doing: "write", path: self.id.file_name(), source });
        }
        let mut next = self.transcript.clone();
        let ids = self.store.stamped(&mut unpoisoned(&self.store.held), |stamp| {
            let append = |entry| Ok(next.append(entry, stamp)?.id().unwrap_or_default().to_owned());
            entries.into_iter().map(append).collect::<Result<Vec<String>, StoreError>>()
        })?;
        self.transcript = next;
        self.keep();
        Ok(ids)
    }

    async fn move_leaf(&mut self, id: Option<&str>) -> Result<(), StoreError> {
        match id {
            Some(id) => self.transcript.move_leaf(id)?,
            None => self.transcript.reset_leaf(),
        }
        Ok(())
    }

    async fn branch(&mut self, id: Option<&str>, left: BranchSummary) -> Result<String, StoreError> {
        let entry = self.store.stamped(&mut unpoisoned(&self.store.held), |stamp| {
            let entry = self.transcript.branch_with_summary(id, left, stamp)?;
            Ok::<_, StoreError>(entry.id().unwrap_or_default().to_owned())
        })?;
        self.keep();
        Ok(entry)
    }
}

impl Drop for MemoryWriter {
    fn drop(&mut self) {
        unpoisoned(&self.store.held).writing.remove(&self.id);
    }
}
