//! The stores in memory keep the promises of every store.

use std::sync::Arc;

use yabby_domain::seam::{SessionStore, TranscriptStore};
use yabby_testkit::clock::FixedClock;
use yabby_testkit::memory_store::{MemorySessions, MemoryTranscripts};
use yabby_testkit::store_contract::{self, Backend};

struct Memory {
    sessions: MemorySessions,
    transcripts: MemoryTranscripts,
}

impl Backend for Memory {
    fn sessions(&self) -> Arc<dyn SessionStore> {
        Arc::new(self.sessions.clone())
    }

    fn transcripts(&self) -> Arc<dyn TranscriptStore> {
        Arc::new(self.transcripts.clone())
    }
}

fn memory() -> Box<dyn Backend> {
    let clock = Arc::new(FixedClock::at(1_768_469_400_000));
    Box::new(Memory { sessions: MemorySessions::default(), transcripts: MemoryTranscripts::new(clock) })
}

#[tokio::test]
async fn records_in_memory_keep_the_contract() {
    store_contract::sessions(memory).await;
}

#[tokio::test]
async fn conversations_in_memory_keep_the_contract() {
    store_contract::transcripts(memory).await;
}
