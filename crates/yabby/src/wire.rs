//! The engine, put together from what the configuration names.

mod bundled;
mod compat;
pub mod embeddings;
pub mod keys;
pub mod memory;
pub mod models;
pub mod secrets;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use jiff::tz::TimeZone;
use tokio::runtime::Handle;
use yabby_domain::agent::agents;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::model::ModelRef;
use yabby_domain::seam::recollection::Recollection;
use yabby_domain::seam::shelf::Shelf as _;
use yabby_domain::seam::tool::{Tool, ToolSource};
use yabby_domain::seam::{SessionStore, StoreError, TranscriptStore};
use yabby_domain::secrets::Secrets;
use yabby_domain::session::path::{self, Folders};
use yabby_domain::skills::{self, SkillFile, Surroundings, platform};
use yabby_engine::hooks::Hooks;
use yabby_engine::{AgentHome, Engine, Parts};
use yabby_mcp::McpServers;
use yabby_memory::listening::Listening;
use yabby_memory::memory::Memory;
use yabby_models::{Retries, offline};
use yabby_store::clock::SystemClock;
use yabby_store::disk::Disk;
use yabby_store::files::exec_approvals::ExecApprovalsFile;
use yabby_store::files::ledger::UsageLedger;
use yabby_store::files::sessions::{self, SessionFile};
use yabby_store::files::shelf::{FolderShelf, ShelfPlaces};
use yabby_store::files::transcripts::{self, TranscriptFolder};
use yabby_store::files::turns::{self, Kind, TurnJournal};
use yabby_store::paths::Place;
use yabby_store::state_disk::{KnownFolder, StateDisk};
use yabby_tools::{Conversations, Leash, SkillVariables};

use crate::setting::Setting;
use memory::Remembering;

/// An engine and what it stands on.
pub struct Wired {
    pub engine: Engine,
    memories: Memories,
    journal: TurnJournal,
}

/// What the agents remember whose homes were opened. Shared, since the engine opens them and others look.
type Memories = Arc<Mutex<HashMap<AgentId, Memory>>>;

impl Wired {
    /// The engine for one kind of process.
    pub fn new(setting: &Setting, config: Config, kind: Kind) -> Result<Self> {
        let place = setting.place.clone();
        let disk: Arc<dyn Disk> = Arc::new(StateDisk(KnownFolder::at(place.folder.path())));
        let settings = turns::Settings { disk: disk.clone(), ..turns::Settings::default() };
        let journal = TurnJournal::open(place.folder.turns(), kind, settings)
            .context("cannot open the journal of turns")?;
        let ledger = UsageLedger::open_with(place.folder.usage(), disk.clone())?;
        let config = Arc::new(config);
        let (models, default_model) =
            (models::providers(&place, &config, Retries::default())?, models::default_model(&place, &config));
        let secrets = Arc::new(secrets::secrets(&place, &config, &place.environment));
        let memories = Memories::default();
        let stays = match kind {
            Kind::Gateway => true,
            Kind::Agent => false,
        };
        let common = Common::new(&place, disk, &config, secrets.clone(), memories.clone(), stays);
        let engine = Engine::new(Parts {
            config,
            clock: Arc::new(SystemClock),
            zone: TimeZone::system(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            homes: Box::new(move |config, agent| home(&place, &common, config, agent)),
            journal: Arc::new(journal.clone()),
            ledger: Arc::new(ledger),
            models,
            default_model,
            channels: Vec::new(),
            hooks: Hooks::default(),
            secrets,
        });
        Ok(Self { engine, memories, journal })
    }

    /// Finds what an agent remembers, once its home was opened.
    pub fn memories(&self) -> impl Fn(&AgentId) -> Option<Memory> + Send + Sync + 'static {
        let memories = self.memories.clone();
        move |agent| memories.lock().unwrap_or_else(PoisonError::into_inner).get(agent).cloned()
    }

    /// What came up with the journals that were found. Not for asynchronous callers.
    pub fn notices(&self) -> Vec<String> {
        let notices = self.journal.notices().unwrap_or_default();
        notices.into_iter().map(|notice| notice.0).collect()
    }

    /// Lets go of everything; comes back when it is on the disk.
    pub async fn close(self) {
        let memories: Vec<Memory> =
            self.memories.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        for memory in memories {
            memory.catch_up().await;
        }
        drop(self.engine);
        self.journal.close().await;
    }
}

/// The model that needs nothing but this program.
pub fn built_in_model() -> ModelRef {
    ModelRef::new(offline::PROVIDER, offline::MODEL)
}

/// Where an agent lives: in the folder, unless the configuration says otherwise.
fn home(place: &Place, common: &Common, config: &Config, agent: &AgentId) -> Result<AgentHome, StoreError> {
    let [state, home, current] =
        [place.folder.path(), &place.home, &place.current].map(|path| path.to_string_lossy().into_owned());
    let folders = Folders { state: &state, home: &home, current: &current };
    let store = path::store_path(config.session.store.as_deref(), agent, &folders);
    let disk = common.disk.clone();
    let settings = sessions::Settings { disk: disk.clone(), ..sessions::Settings::from_environment() };
    let sessions = Arc::new(SessionFile::open(store, settings)?);
    let conversations = path::sessions_folder(&state, agent);
    let transcripts: Arc<dyn TranscriptStore> = {
        let settings = transcripts::Settings { disk: disk.clone(), ..transcripts::Settings::default() };
        Arc::new(TranscriptFolder::open_with(&conversations, settings))
    };
    let workspace = workspace(config, agent, &folders);
    if !workspace.exists() {
        disk.create_folder(&workspace).map_err(|source| StoreError::Io {
            doing: "create",
            path: workspace.display().to_string(),
            source: Arc::new(source),
        })?;
    }
    let shelf = ShelfPlaces { workspace: workspace.clone(), ..shelf_places(place) };
    let remembering =
        remembered(place, common, config, agent, &workspace, Path::new(&conversations), sessions.clone());
    let memory = remembering.as_ref().map(|remembering| remembering.memory.clone());
    if let Some(memory) = &memory {
        let mut memories = common.memories.lock().unwrap_or_else(PoisonError::into_inner);
        memories.insert(agent.clone(), memory.clone());
    }
    let transcripts = match &memory {
        Some(memory) => Arc::new(Listening { store: transcripts, memory: memory.clone() }),
        None => transcripts,
    };
    let talks = Conversations { sessions: sessions.clone(), transcripts: transcripts.clone() };
    let skills = Arc::new(FolderShelf::new(shelf.clone()));
    let mut tools = yabby_tools::all(talks, leash(place, &disk, config, &shelf, &skills), memory.as_ref());
    tools.extend(common.web.iter().cloned());
    Ok(AgentHome {
        sessions,
        transcripts,
        state,
        conversations,
        workspace,
        tools: tools.into(),
        shelf: skills,
        memory: remembering.map(|remembering| recollection(&remembering, common.stays)),
        sources: common.sources.clone(),
    })
}

/// What an agent remembers. Without an index it still talks: what is wrong with it is told in the log.
fn remembered(
    place: &Place,
    common: &Common,
    config: &Config,
    agent: &AgentId,
    workspace: &Path,
    transcripts: &Path,
    sessions: Arc<dyn SessionStore>,
) -> Option<Remembering> {
    let config = Arc::new(config.clone());
    let settings = memory::settings(place, &config, agent);
    let ground = memory::Ground { agent, workspace, transcripts, sessions, secrets: common.secrets.clone() };
    memory::remembering(place, &config, settings.as_ref()?, ground)
        .inspect_err(|error| tracing::warn!(%agent, %error, "the agent has no memory to search"))
        .ok()
}

/// What the engine asks. In a process that stays it is kept up for as long as somebody may ask.
fn recollection(remembering: &Remembering, stays: bool) -> Arc<dyn Recollection> {
    match stays && Handle::try_current().is_ok() {
        true => Arc::new(remembering.upkeep()),
        false => Arc::new(remembering.memory.clone()),
    }
}

/// Where the texts of every agent are.
fn shelf_places(place: &Place) -> ShelfPlaces {
    ShelfPlaces { bundled: bundled::folder(place), ..places_but_bundled(place) }
}

/// A look at the skills of an agent that leaves everything as it is: those that come with the program are
/// told from memory.
pub fn skill_files(place: &Place, workspace: PathBuf, config: &Config) -> (FolderShelf, Vec<SkillFile>) {
    let elsewhere = bundled::elsewhere(place);
    let own = if elsewhere.is_none() { bundled::files(place) } else { Vec::new() };
    let places = ShelfPlaces { workspace, bundled: elsewhere, ..places_but_bundled(place) };
    let shelf = FolderShelf::new(places);
    let files = own.into_iter().chain(shelf.files(config)).collect();
    (shelf, files)
}

/// The skills that the owner installed for all agents.
pub fn managed_skills(place: &Place) -> PathBuf {
    place.folder.path().join("skills")
}

fn places_but_bundled(place: &Place) -> ShelfPlaces {
    let environment = &place.environment;
    let set = environment.iter().filter(|(_, value)| !value.trim().is_empty());
    ShelfPlaces {
        managed: managed_skills(place),
        home: place.home.clone(),
        current: place.current.clone(),
        programs: environment.get("PATH").map(str::to_owned),
        variables: set.map(|(name, _)| name.to_owned()).collect(),
        ..ShelfPlaces::default()
    }
}

/// What all agents share.
struct Common {
    disk: Arc<dyn Disk>,
    web: Vec<Arc<dyn Tool>>,
    sources: Vec<Arc<dyn ToolSource>>,
    secrets: Arc<Secrets>,
    memories: Memories,
    /// The process is there for longer than one command.
    stays: bool,
}

impl Common {
    fn new(
        place: &Place,
        disk: Arc<dyn Disk>,
        config: &Config,
        secrets: Arc<Secrets>,
        memories: Memories,
        stays: bool,
    ) -> Self {
        let servers = McpServers::new(config, variables(place));
        let servers = (!servers.is_empty()).then(|| Arc::new(servers) as Arc<dyn ToolSource>);
        let web = yabby_tools::web(config, variables(place));
        Self { disk, web, sources: servers.into_iter().collect(), secrets, memories, stays }
    }
}

/// The variables of the process and of the dotenv files.
fn variables(place: &Place) -> impl Fn(&str) -> Option<String> + Send + Sync + 'static {
    let environment = place.environment.clone();
    move |name| environment.get(name).map(str::to_owned)
}

/// What commands are run with.
fn leash(
    place: &Place,
    disk: &Arc<dyn Disk>,
    config: &Config,
    shelf: &ShelfPlaces,
    skills: &Arc<FolderShelf>,
) -> Leash {
    let text = |value: std::ffi::OsString| value.into_string().ok();
    Leash {
        // Whatever is found elsewhere under our name may be another release.
        keeper: std::env::current_exe().unwrap_or_else(|_| "yabby".into()),
        state: place.folder.path().to_owned(),
        home: place.home.clone(),
        environment: std::env::vars_os()
            .filter_map(|(name, value)| Some((text(name)?, text(value)?)))
            .collect(),
        approvals: Arc::new(ExecApprovalsFile::of(place, disk.clone())),
        // Skills are read where they lie.
        readable: shelf.folders(config).into_iter().map(|(_, folder)| folder).collect(),
        skill_variables: skill_variables(skills),
    }
}

/// What commands are to know for the skills that an agent has.
fn skill_variables(shelf: &Arc<FolderShelf>) -> SkillVariables {
    let shelf = shelf.clone();
    Arc::new(move |config, agent| {
        let here = Surroundings {
            config,
            platform: platform(std::env::consts::OS),
            has_program: &|name| shelf.has_program(name),
            has_variable: &|name| shelf.has_variable(name),
        };
        let listed = config.agent(agent).and_then(|agent| agent.skills.as_deref());
        skills::variables(&shelf.files(config), &here, listed)
    })
}

fn workspace(config: &Config, agent: &AgentId, folders: &Folders<'_>) -> PathBuf {
    let known = agents(config, folders).into_iter().find(|known| known.id == *agent);
    let beside = || path::join(folders.state, &format!("workspace-{agent}"));
    known.map_or_else(beside, |agent| agent.workspace).into()
}
