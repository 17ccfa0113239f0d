//! The folder behind the door that the engine knows: whatever waits for the disk does so elsewhere.

use async_trait::async_trait;
use tokio::task::spawn_blocking;
use yabby_domain::seam::{
    Begin, Compacted, Fork, Part, StoreError, TranscriptStore, TranscriptWriter, UndoneCompaction,
};
use yabby_domain::transcript::Transcript;
use yabby_domain::transcript::context::Context;
use yabby_domain::transcript::file_name::{ArchiveReason, TranscriptId};
use yabby_domain::transcript::line_compact::MaxLines;

use super::TranscriptFolder;

#[async_trait]
impl TranscriptStore for TranscriptFolder {
    async fn load(&self, id: &TranscriptId) -> Result<Option<Transcript>, StoreError> {
        let (folder, id) = (self.clone(), id.clone());
        blocking(move || folder.load_blocking(&id)).await
    }

    async fn context(&self, id: &TranscriptId) -> Result<Option<Context>, StoreError> {
        let (folder, id) = (self.clone(), id.clone());
        blocking(move || folder.context_blocking(&id)).await
    }

    async fn open(&self, id: &TranscriptId, begin: Begin) -> Result<Box<dyn TranscriptWriter>, StoreError> {
        let (folder, id) = (self.clone(), id.clone());
        let writer = blocking(move || folder.open_blocking(&id, &begin)).await?;
        Ok(Box::new(writer.into_async()))
    }

    async fn peek(&self, id: &TranscriptId, part: Part) -> Result<Option<Vec<u8>>, StoreError> {
        let (folder, id) = (self.clone(), id.clone());
        blocking(move || folder.peek_blocking(&id, part)).await
    }

    async fn fork(&self, id: &TranscriptId, fork: Fork) -> Result<TranscriptId, StoreError> {
        let (folder, id) = (self.clone(), id.clone());
        blocking(move || folder.fork_blocking(&id, &fork)).await
    }

    async fn compact(&self, id: &TranscriptId, keep: MaxLines) -> Result<Compacted, StoreError> {
        let (folder, id) = (self.clone(), id.clone());
        blocking(move || folder.compact_blocking(&id, keep)).await
    }

    async fn undo_compaction(&self, id: &TranscriptId) -> Result<UndoneCompaction, StoreError> {
        let (folder, id) = (self.clone(), id.clone());
        blocking(move || folder.undo_compaction_blocking(&id)).await
    }

    async fn archive(&self, id: &TranscriptId, reason: ArchiveReason) -> Result<Option<String>, StoreError> {
        let (folder, id) = (self.clone(), id.clone());
        blocking(move || folder.archive_blocking(&id, reason)).await
    }

    async fn list(&self) -> Result<Vec<TranscriptId>, StoreError> {
        let folder = self.clone();
        blocking(move || folder.list_blocking()).await
    }
}

/// Waits for something that waits for the disk.
pub(crate) async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match spawn_blocking(act).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is being shut down.
            Err(_) => Err(StoreError::Closed { path: "the store".to_owned() }),
        },
    }
}
