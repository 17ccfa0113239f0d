//! Files keep the promises of every store.

use std::sync::Arc;

use tempfile::TempDir;
use yabby_domain::seam::{SessionStore, TranscriptStore};
use yabby_store::files::sessions::{SessionFile, Settings};
use yabby_store::files::transcripts::{self, TranscriptFolder};
use yabby_testkit::store_contract::{self, Backend};

struct Files(TempDir);

impl Backend for Files {
    fn sessions(&self) -> Arc<dyn SessionStore> {
        Arc::new(SessionFile::open(self.0.path().join("sessions.json"), Settings::default()).unwrap())
    }

    fn transcripts(&self) -> Arc<dyn TranscriptStore> {
        Arc::new(TranscriptFolder::open_with(self.0.path(), transcripts::Settings::default()))
    }
}

fn files() -> Box<dyn Backend> {
    Box::new(Files(TempDir::new().unwrap()))
}

#[tokio::test]
async fn records_in_files_keep_the_contract() {
    store_contract::sessions(files).await;
}

#[tokio::test]
async fn conversations_in_files_keep_the_contract() {
    store_contract::transcripts(files).await;
}
