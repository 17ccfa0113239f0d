//! The folder that everything lives in, and the configuration file (`config.md` §1), and where an
//! agent's sessions are (`sessions.md` §5).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use yabby_config::dotenv;
use yabby_config::environment::Environment;
use yabby_config::lookup::{self, Around, Named, Profile};
use yabby_domain::id::AgentId;
use yabby_domain::seam::{Stamp, StoreError};
use yabby_domain::session::path::{self, Folders};
use yabby_domain::text::lossy;

use crate::disk::{Doing, shown};
use crate::file_state::FileState;
use crate::files::folder::read_plain;

/// What the command line asks for.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    pub state: Option<PathBuf>,
    pub profile: Option<Profile>,
}

/// Where a run of the program works.
#[derive(Clone, Debug)]
pub struct Place {
    pub folder: StateFolder,
    pub config: PathBuf,
    pub home: PathBuf,
    /// What relative paths are relative to.
    pub current: PathBuf,
    /// The variables of the process and of the dotenv files.
    pub environment: Environment,
}

impl Place {
    /// The folder and the file that the command line or the environment names, else those in the home
    /// folder.
    pub fn find(choice: &Choice) -> Self {
        let text = |value: OsString| value.to_string_lossy().into_owned();
        let process = std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect();
        let home = std::env::home_dir().unwrap_or_default();
        let current = std::env::current_dir().unwrap_or_default();
        Self::find_around(choice, process, &home, &current)
    }

    /// The same for a process with these variables and folders.
    pub fn find_around(choice: &Choice, process: Environment, home: &Path, current: &Path) -> Self {
        let mut environment = process;
        if let Some(profile) = &choice.profile {
            name_profile(&mut environment, profile);
        }
        environment.add(variables_in(&current.join(".env")));
        let around = Around { home: &home.to_string_lossy(), current: &current.to_string_lossy() };
        let option = choice.state.as_ref().map(|folder| folder.to_string_lossy());
        let named = Named::by(option.as_deref(), choice.profile.as_ref(), &environment);
        let exists = |path: &str| Path::new(path).exists();
        let state = lookup::state_folder(&named, around, exists);
        environment.add(variables_in(&Path::new(&state).join(".env")));
        let config = lookup::config_file(&named, &state, &environment, around, exists);
        Self {
            folder: StateFolder::new(state),
            config: config.into(),
            home: home.to_owned(),
            current: current.to_owned(),
            environment,
        }
    }

    /// Does something with the folders as the rules want them: as texts.
    pub fn with_folders<T>(&self, act: impl FnOnce(&Folders<'_>) -> T) -> T {
        let [state, home, current] =
            [self.folder.path(), &self.home, &self.current].map(|path| path.to_string_lossy());
        act(&Folders { state: &state, home: &home, current: &current })
    }

    /// A path as a person reads it, with `~` for the home folder.
    pub fn shortened(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) if !self.home.as_os_str().is_empty() => Path::new("~").join(rest).display().to_string(),
            _ => path.display().to_string(),
        }
    }
}

/// What a profile says to whatever asks the environment for it.
fn name_profile(environment: &mut Environment, profile: &Profile) {
    environment.set("OPENCLAW_PROFILE", profile.as_str());
    if *profile == Profile::dev() {
        environment.set_if_blank("OPENCLAW_GATEWAY_PORT", DEV_PORT);
    }
}

/// Where the gateway of the profile `dev` listens, beside one that runs already.
const DEV_PORT: &str = "19001";

/// The variables of a dotenv file; none if it cannot be read, as most folders have none.
fn variables_in(file: &Path) -> Vec<(String, String)> {
    read_plain(file).map(|bytes| dotenv::parse(&lossy(&bytes))).unwrap_or_default()
}

/// A state folder; nothing that an agent is called leads out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFolder(PathBuf);

impl StateFolder {
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder of an agent's sessions, which need not exist. A link on the way to it must not lead out
    /// of the state folder.
    pub fn sessions(&self, agent: &AgentId) -> Result<PathBuf, StoreError> {
        let folder = PathBuf::from(path::sessions_folder(&self.0.to_string_lossy(), agent));
        let outside = || StoreError::Outside { path: shown(&folder), folder: shown(&self.0) };
        let Some(state) = resolved(&self.0)? else { return Ok(folder) };
        // Of a folder that is not there yet, the part that is.
        for part in folder.ancestors().take_while(|part| part.starts_with(&self.0)) {
            if let Some(real) = resolved(part)? {
                return if real.starts_with(&state) { Ok(folder) } else { Err(outside()) };
            }
        }
        Ok(folder)
    }

    /// The folder of the journals of turns, which need not exist.
    pub fn turns(&self) -> PathBuf {
        self.0.join("turns")
    }

    /// What was typed in conversations in a terminal, which need not exist.
    pub fn agent_history(&self) -> PathBuf {
        self.0.join("agent-history.txt")
    }

    /// The folder of the ledger, which need not exist.
    pub fn usage(&self) -> PathBuf {
        self.0.join("usage")
    }

    /// The agents that have a folder.
    pub fn agents(&self) -> Result<Vec<AgentId>, StoreError> {
        let folder = self.agents_folder();
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.doing("list", &folder)?,
        };
        let mut agents = Vec::new();
        for entry in entries {
            let entry = entry.doing("list", &folder)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let agent = AgentId::normalize(&name);
            // A folder under another name is no agent's.
            if agent.as_str() == name && entry.path().is_dir() {
                agents.push(agent);
            }
        }
        agents.sort();
        Ok(agents)
    }

    /// As long as this is the same, so are the agents.
    pub fn agents_stamp(&self) -> Stamp {
        Stamp::of(&FileState::of_readable(&self.agents_folder()))
    }

    fn agents_folder(&self) -> PathBuf {
        self.0.join("agents")
    }
}

/// The real path; `None` if there is no such file or folder. A link that leads nowhere is an error.
fn resolved(path: &Path) -> Result<Option<PathBuf>, StoreError> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => Ok(None),
        real => real.map(Some).doing("resolve", path),
    }
}
