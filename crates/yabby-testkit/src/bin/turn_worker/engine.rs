//! An engine on a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::model::ModelRef;
use yabby_domain::seam::StoreError;
use yabby_domain::seam::channel::Channel;
use yabby_domain::seam::tool::Tool;
use yabby_domain::session::path;
use yabby_engine::hooks::Hooks;
use yabby_engine::{AgentHome, Engine, Parts};
use yabby_store::clock::SystemClock;
use yabby_store::disk::Disk;
use yabby_store::files::ledger::UsageLedger;
use yabby_store::files::sessions::{self, SessionFile};
use yabby_store::files::transcripts::{self, TranscriptFolder};
use yabby_store::files::turns::{self, Kind, TurnJournal};

use crate::Result;
use crate::platform::{Lines, Mark, Namer, Platform};

/// What an engine stands on.
pub struct Ground {
    pub engine: Engine,
    pub journal: TurnJournal,
}

/// Opens an engine on a folder that a test owns.
pub fn open(folder: &Path, disk: Arc<dyn Disk>, pause: Duration) -> Result<Ground> {
    let config = json!({
        "agents": {"defaults": {"maxConcurrent": 64}},
        "messages": {"queue": {"debounceMs": 0}},
        "session": {"dmScope": "per-channel-peer"},
    });
    let journal_settings =
        turns::Settings { disk: disk.clone(), limit: 64 * 1024, ..turns::Settings::default() };
    let journal = TurnJournal::open(folder.join("turns"), Kind::Gateway, journal_settings)?;
    let mark: Arc<dyn Tool> = Arc::new(Mark(Lines::open(&folder.join("marks"))?));
    let state: PathBuf = folder.join("state");
    let homes = move |_: &Config, agent: &AgentId| home(&state, agent, &disk, &mark);
    let engine = Engine::new(Parts {
        config: Arc::new(Config::new(config)),
        clock: Arc::new(SystemClock),
        zone: TimeZone::UTC,
        version: "test".to_owned(),
        homes: Box::new(homes),
        journal: Arc::new(journal.clone()),
        ledger: Arc::new(UsageLedger::open(folder.join("usage"))?),
        models: vec![Arc::new(Namer { pause })],
        default_model: ModelRef::new("namer", "names"),
        channels: vec![
            Arc::new(Platform::open("telegram", false, folder)?) as Arc<dyn Channel>,
            Arc::new(Platform::open("discord", true, folder)?),
        ],
        hooks: Hooks::default(),
        secrets: Arc::default(),
    });
    Ok(Ground { engine, journal })
}

fn home(
    state: &Path,
    agent: &AgentId,
    disk: &Arc<dyn Disk>,
    mark: &Arc<dyn Tool>,
) -> std::result::Result<AgentHome, StoreError> {
    let state = state.to_string_lossy().into_owned();
    let conversations = path::sessions_folder(&state, agent);
    let store_settings = sessions::Settings { disk: disk.clone(), ..sessions::Settings::default() };
    let store = Path::new(&conversations).join("sessions.json");
    let folder_settings = transcripts::Settings { disk: disk.clone(), ..transcripts::Settings::default() };
    Ok(AgentHome {
        memory: None,
        sessions: Arc::new(SessionFile::open(store, store_settings)?),
        transcripts: Arc::new(TranscriptFolder::open_with(&conversations, folder_settings)),
        workspace: Path::new(&state).join("workspace"),
        tools: vec![mark.clone()].into(),
        shelf: Arc::new(yabby_testkit::memory_shelf::MemoryShelf::default()),
        sources: Vec::new(),
        conversations,
        state,
    })
}
