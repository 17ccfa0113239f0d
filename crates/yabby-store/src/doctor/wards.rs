//! Where sessions are: the folder of every agent, and those that `session.store` names (`sessions.md` §5).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::session::path::{Folders, store_path};

use super::examination::Round;
use super::finding::{Code, Finding};
use super::names::{Name, meaning};
use crate::disk::{parent, shown};

/// A folder of sessions.
#[derive(Clone, Debug)]
pub(super) struct Ward {
    pub(super) agent: AgentId,
    pub(super) folder: PathBuf,
    /// Whether it is the folder of an agent's sessions. In any other a store may lie among things that are
    /// nobody's business.
    pub(super) is_own: bool,
    /// The same folder without links.
    pub(super) real: PathBuf,
    /// The names of the stores in it.
    pub(super) stores: Vec<String>,
    /// Where the records of its transcripts belong.
    pub(super) store: PathBuf,
    /// The store of an earlier program, beside the folder.
    pub(super) older_store: Option<PathBuf>,
}

/// A file of a ward.
pub(super) struct File {
    pub(super) name: Name,
    pub(super) path: PathBuf,
}

/// All folders of sessions.
pub(super) fn wards(round: &mut Round<'_>, config: &Config) -> Vec<Ward> {
    const DEFAULT: &str = "sessions.json";
    let state = round.doctor.place.folder.clone();
    let (home, current) =
        (shown(&round.doctor.place.home), shown(&std::env::current_dir().unwrap_or_default()));
    let folders = Folders { state: &shown(state.path()), home: &home, current: &current };
    let configured = config.session.store.as_deref();
    let mut wards = Vec::<Ward>::new();
    for agent in agents(round, config) {
        let store = PathBuf::from(store_path(configured, &agent, &folders));
        let own = match state.sessions(&agent) {
            Ok(folder) => Some(folder),
            Err(error) => {
                let path = state.path().join("agents").join(agent.as_str());
                round.found(Finding::new(Code::FolderOutside, path, format!("{error}.")));
                None
            }
        };
        // Without a folder of its own, an agent has only the store that somebody chose.
        let beside_store = (own.is_some() || configured.is_some()).then(|| parent(&store).to_owned());
        let older_store = own.as_deref().and_then(Path::parent).map(|agent| agent.join(DEFAULT));
        for (folder, name) in [(own.clone(), DEFAULT.to_owned()), (beside_store, file_name(&store))] {
            let Some(folder) = folder else { continue };
            let is_own = own.as_ref() == Some(&folder);
            match wards.iter_mut().find(|ward| ward.folder == folder) {
                Some(ward) if ward.stores.contains(&name) => {}
                Some(ward) => ward.stores.push(name),
                None if folder.is_dir() || older_store.as_ref().is_some_and(|store| store.is_file()) => {
                    let older_store = older_store.clone().filter(|older| parent(older) == parent(&folder));
                    let (agent, store) = (agent.clone(), store.clone());
                    let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
                    wards.push(Ward { agent, folder, is_own, real, stores: vec![name], store, older_store });
                }
                None => {}
            }
        }
    }
    wards
}

/// The agents that have a folder, and those that are configured. Other names in the folder are nobody's.
fn agents(round: &mut Round<'_>, config: &Config) -> BTreeSet<AgentId> {
    let state = round.doctor.place.folder.clone();
    let folder = state.path().join("agents");
    let mut agents: BTreeSet<AgentId> = match state.agents() {
        Ok(agents) => agents.into_iter().collect(),
        Err(error) => {
            round.found(Finding::new(Code::FolderUnreadable, folder.clone(), format!("{error}.")));
            BTreeSet::new()
        }
    };
    round.checked.agents = agents.len();
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if AgentId::normalize(&name).as_str() != name || !entry.path().is_dir() {
            round.found(Finding::new(Code::ForeignFile, entry.path(), "It is no agent's folder."));
        }
    }
    agents.extend(config.agents.list.iter().map(|agent| AgentId::normalize(&agent.id)));
    agents.insert(AgentId::default());
    agents
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl Ward {
    /// The stores that are examined, the older one last.
    pub(super) fn store_paths(&self) -> Vec<PathBuf> {
        let older = self.older_store.clone().filter(|store| store.symlink_metadata().is_ok());
        self.stores.iter().map(|name| self.folder.join(name)).chain(older).collect()
    }

    /// What a file of the folder is.
    pub(super) fn meaning(&self, path: &Path) -> Name {
        let stores: Vec<&str> = self.stores.iter().map(String::as_str).collect();
        meaning(&file_name(path), &stores)
    }

    /// Whether a file of that meaning is any of our business in this folder. Transcripts are, if a record
    /// speaks of them.
    pub(super) fn is_ours(&self, name: &Name) -> bool {
        match name {
            _ if self.is_own => true,
            Name::Store | Name::StoreJournal | Name::Unapplied | Name::StoreLock | Name::EarlierSessions => {
                true
            }
            Name::Transcript(_) | Name::TranscriptJournal(_) | Name::TranscriptLock(_) => true,
            Name::Draft { of, .. } => self.stores.iter().any(|store| of.starts_with(store.as_str())),
            Name::Unsafe | Name::Archive | Name::Metadata | Name::Foreign => false,
        }
    }

    /// What is in the folder, by name. Links that lead out of it, and what is nobody's, are told of and not
    /// looked at any further.
    pub(super) fn list(&self, round: &mut Round<'_>) -> Vec<File> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                let what = format!("It cannot be read: {error}.");
                round.found(Finding::new(Code::FolderUnreadable, &self.folder, what));
                return Vec::new();
            }
        };
        let mut files = Vec::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = self.meaning(&path);
            if !self.is_ours(&name) {
                continue;
            }
            let Ok(about) = path.symlink_metadata() else { continue };
            round.checked.bytes += if about.is_file() { about.len() } else { 0 };
            let oddity = if about.is_symlink() { self.oddity_of_link(&path, &name) } else { None };
            match oddity.or_else(|| oddity_of_file(&path, &name)) {
                Some((code, what)) => round.found(Finding::new(code, path, what)),
                None if name == Name::Archive => round.checked.archives += 1,
                None => {
                    round.references.note_topic(&name);
                    files.push(File { name, path });
                }
            }
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        files
    }

    fn oddity_of_link(&self, path: &Path, name: &Name) -> Option<(Code, String)> {
        match path.canonicalize() {
            Err(_) => Some((Code::LinkDangling, "It is a link that leads nowhere.".to_owned())),
            // A store may be kept elsewhere.
            Ok(real) if real.parent() != Some(&*self.real) && *name != Name::Store => {
                let what = format!("It is a link to {}, which is not in its folder.", real.display());
                Some((Code::LinkOutside, what))
            }
            Ok(_) => None,
        }
    }
}

fn oddity_of_file(path: &Path, name: &Name) -> Option<(Code, String)> {
    // Where these should be, something else is damage, and told as such.
    let must_be_file = matches!(name, Name::Store | Name::Transcript(_));
    match name {
        Name::Foreign => Some((Code::ForeignFile, "It belongs to neither program.".to_owned())),
        _ if !must_be_file && !path.is_file() => Some((Code::ForeignFile, "It is no plain file.".to_owned())),
        Name::Unsafe => {
            Some((Code::UnsafeName, "It is called like a transcript, but not as one may be.".to_owned()))
        }
        _ => None,
    }
}
