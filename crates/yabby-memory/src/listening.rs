//! Transcripts that tell the memory when they grow.

use std::sync::Arc;

use async_trait::async_trait;
use yabby_domain::seam::{
    Begin, Compacted, Fork, Part, StoreError, TranscriptStore, TranscriptWriter, UndoneCompaction,
};
use yabby_domain::transcript::context::Context;
use yabby_domain::transcript::file_name::{ArchiveReason, TranscriptId};
use yabby_domain::transcript::line_compact::MaxLines;
use yabby_domain::transcript::tree::{BranchSummary, NewEntry, Transcript};

use crate::memory::Memory;

/// A store whose conversations are remembered as they are written.
pub struct Listening {
    pub store: Arc<dyn TranscriptStore>,
    pub memory: Memory,
}

#[async_trait]
impl TranscriptStore for Listening {
    async fn load(&self, id: &TranscriptId) -> Result<Option<Transcript>, StoreError> {
        self.store.load(id).await
    }

    async fn context(&self, id: &TranscriptId) -> Result<Option<Context>, StoreError> {
        self.store.context(id).await
    }

    async fn open(&self, id: &TranscriptId, begin: Begin) -> Result<Box<dyn TranscriptWriter>, StoreError> {
        let writer = self.store.open(id, begin).await?;
        self.memory.begins(id);
        Ok(Box::new(ListeningWriter { writer, id: id.clone(), memory: self.memory.clone() }))
    }

    async fn peek(&self, id: &TranscriptId, part: Part) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.peek(id, part).await
    }

    async fn fork(&self, id: &TranscriptId, fork: Fork) -> Result<TranscriptId, StoreError> {
        let forked = self.store.fork(id, fork).await?;
        self.memory.grew(&forked);
        Ok(forked)
    }

    async fn compact(&self, id: &TranscriptId, keep: MaxLines) -> Result<Compacted, StoreError> {
        let compacted = self.store.compact(id, keep).await?;
        self.memory.grew(id);
        Ok(compacted)
    }

    async fn undo_compaction(&self, id: &TranscriptId) -> Result<UndoneCompaction, StoreError> {
        let undone = self.store.undo_compaction(id).await?;
        self.memory.grew(id);
        Ok(undone)
    }

    async fn archive(&self, id: &TranscriptId, reason: ArchiveReason) -> Result<Option<String>, StoreError> {
        let archived = self.store.archive(id, reason).await?;
        self.memory.grew(id);
        Ok(archived)
    }

    async fn list(&self) -> Result<Vec<TranscriptId>, StoreError> {
        self.store.list().await
    }
}

struct ListeningWriter {
    writer: Box<dyn TranscriptWriter>,
    id: TranscriptId,
    memory: Memory,
}

#[async_trait]
impl TranscriptWriter for ListeningWriter {
    fn transcript(&self) -> &Transcript {
        self.writer.transcript()
    }

    async fn append(&mut self, entries: Vec<NewEntry>) -> Result<Vec<String>, StoreError> {
        let ids = self.writer.append(entries).await?;
        self.memory.grew(&self.id);
        Ok(ids)
    }

    async fn move_leaf(&mut self, id: Option<&str>) -> Result<(), StoreError> {
        self.writer.move_leaf(id).await
    }

    async fn branch(&mut self, id: Option<&str>, left: BranchSummary) -> Result<String, StoreError> {
        let id = self.writer.branch(id, left).await?;
        self.memory.grew(&self.id);
        Ok(id)
    }
}
