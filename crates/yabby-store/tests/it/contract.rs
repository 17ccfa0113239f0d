//! Files keep the promises of every store.

use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use yabby_domain::seam::journal::Journal;
use yabby_domain::seam::{SessionStore, TranscriptStore};
use yabby_store::files::sessions::{SessionFile, Settings};
use yabby_store::files::transcripts::{self, TranscriptFolder};
use yabby_store::files::turns::{self, Kind, TurnJournal};
use yabby_testkit::clock::FixedClock;
use yabby_testkit::store_contract::turns::{BEGIN, Turns};
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

struct TurnFiles {
    folder: TempDir,
    clock: Arc<FixedClock>,
}

impl TurnFiles {
    fn journals(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        files.map(|file| file.unwrap().path()).collect()
    }
}

impl Turns for TurnFiles {
    fn journal(&self) -> Arc<dyn Journal> {
        let settings =
            turns::Settings { clock: self.clock.clone(), limit: 50_000, ..turns::Settings::default() };
        Arc::new(TurnJournal::open(self.folder.path(), Kind::Gateway, settings).unwrap())
    }

    fn advance(&self, millis: i64) {
        self.clock.advance(millis);
    }

    fn tear(&self) {
        let journals = self.journals();
        let [journal] = journals.as_slice() else { panic!("{journals:?}") };
        let text = std::fs::read(journal).unwrap();
        std::fs::write(journal, &text[..text.len() - 7]).unwrap();
    }

    fn bytes(&self) -> usize {
        self.journals().iter().map(|path| std::fs::read(path).map_or(0, |text| text.len())).sum()
    }
}

fn turn_files() -> Box<dyn Turns> {
    let clock = Arc::new(FixedClock::at(BEGIN));
    Box::new(TurnFiles { folder: TempDir::new().unwrap(), clock })
}

#[tokio::test]
async fn turns_in_files_keep_the_contract() {
    store_contract::turns(turn_files).await;
}
