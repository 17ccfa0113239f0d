//! The folder that everything lives in, and where an agent's sessions are in it (`sessions.md` §5).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use yabby_domain::id::AgentId;
use yabby_domain::seam::StoreError;
use yabby_domain::session::path;

use crate::disk::{Doing, shown};

/// What the command line asks for.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    pub state: Option<PathBuf>,
    pub profile: Option<String>,
}

/// Where a run of the program works.
#[derive(Clone, Debug)]
pub struct Place {
    pub folder: StateFolder,
    pub config: PathBuf,
    pub home: PathBuf,
}

impl Place {
    /// The folder and the file that the command line or the environment names, else those in the home
    /// folder.
    pub fn find(choice: &Choice) -> Self {
        let variable = |name: &str| std::env::var(name).ok();
        let named = ["OPENCLAW_STATE_DIR", "CLAWDBOT_STATE_DIR"].map(variable);
        let home = std::env::home_dir().unwrap_or_default();
        let current = std::env::current_dir().unwrap_or_default();
        let exists = |folder: &str| Path::new(folder).exists();
        let named = [named[0].as_deref(), named[1].as_deref()];
        let found = path::state_folder(named, &home.to_string_lossy(), &current.to_string_lossy(), exists);
        let folder = StateFolder::new(choice.state.clone().unwrap_or_else(|| found.into()));
        let config = folder.path().join("openclaw.json");
        Self { folder, config, home }
    }

    /// A path as a person reads it, with `~` for the home folder.
    pub fn shortened(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) if !self.home.as_os_str().is_empty() => Path::new("~").join(rest).display().to_string(),
            _ => path.display().to_string(),
        }
    }
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

    /// The agents that have a folder.
    pub fn agents(&self) -> Result<Vec<AgentId>, StoreError> {
        let folder = self.0.join("agents");
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
}

/// The real path; `None` if there is no such file or folder. A link that leads nowhere is an error.
fn resolved(path: &Path) -> Result<Option<PathBuf>, StoreError> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => Ok(None),
        real => real.map(Some).doing("resolve", path),
    }
}
