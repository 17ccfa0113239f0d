//! The sessions of a state folder, as commands look them up: by key, by id, by label, or by file.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::glance::Field;
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::session::path::{self, Folders};
use yabby_domain::session::row::{Row, newest_first};
use yabby_domain::text;
use yabby_domain::transcript::file_name::{TranscriptId, candidates};
use yabby_store::files::sessions::{SessionFile, Settings};
use yabby_store::files::transcripts::TranscriptFolder;
use yabby_store::paths::Place;

use crate::earlier::{self, EarlierConversation};
use crate::failure::{self, Failure};
use crate::setting::Setting;

/// All stores of a folder.
pub struct Book<'s> {
    place: &'s Place,
    config: Config,
}

/// One session that was asked for.
pub struct Found {
    pub key: SessionKey,
    pub entry: SessionEntry,
    pub store: SessionFile,
    pub agent: AgentId,
    /// Where its conversation is; that need not exist.
    pub file: PathBuf,
    /// `None` if its record names nothing that could be one: the record can still be labelled or go.
    pub conversation: Option<Conversation>,
}

/// The sessions that a text names equally well.
#[derive(Default)]
struct Matches {
    found: Vec<Found>,
    /// How well; see [`rank`].
    rank: Option<usize>,
    /// Why stores could not be looked into.
    unread: Vec<anyhow::Error>,
}

/// A transcript in its folder.
pub struct Conversation {
    pub folder: TranscriptFolder,
    pub id: TranscriptId,
}

impl Found {
    /// Writes what was changed to the file that others read. A change is safe before that, even if somebody else holds the
    /// file: then it waits in the journal, which is said.
    pub fn flush(&self) {
        if let Err(error) = self.store.flush() {
            let error = crate::terminal::harmless(&error.to_string());
            anstream::eprintln!(
                "note: the change is kept, but not yet in the file that others read: {error}"
            );
        }
    }

    /// What is said where there is nothing to read.
    pub fn silence(&self) -> anyhow::Error {
        let (key, file) = (&self.key, self.file.display());
        match &self.conversation {
            Some(_) => anyhow!("nothing has been said yet in {key}: there is no {file}"),
            None => anyhow!(
                "the record of {key} names no transcript of this folder; `yabby sessions reset` begins it anew"
            ),
        }
    }
}

impl<'s> Book<'s> {
    pub fn open(setting: &'s Setting) -> Result<Self> {
        Ok(Self { place: &setting.place, config: setting.config()? })
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The store of an agent, wherever the configuration puts it.
    pub fn store_path(&self, agent: &AgentId) -> PathBuf {
        let configured = self.config.session.store.as_deref();
        self.with_folders(|folders| path::store_path(configured, agent, folders)).into()
    }

    /// A store that the command line names.
    pub fn named_store(&self, store: &str) -> PathBuf {
        self.with_folders(|folders| path::store_path(Some(store), &AgentId::default(), folders)).into()
    }

    /// Every agent there is: those of the configuration, and those that only have a folder.
    pub fn agents(&self) -> Result<Vec<AgentId>> {
        let named = self.with_folders(|folders| yabby_domain::agent::agents(&self.config, folders));
        let mut agents: Vec<AgentId> = named.into_iter().map(|agent| agent.id).collect();
        for agent in self.place.folder.agents()? {
            if !agents.contains(&agent) {
                agents.push(agent);
            }
        }
        Ok(agents)
    }

    /// The agent that the command line names.
    pub fn agent(&self, named: &str) -> Result<AgentId> {
        let agent = AgentId::normalize(named);
        // A store of its own outside the folder is as good as a folder.
        if self.agents()?.contains(&agent) || self.store_path(&agent).exists() {
            return Ok(agent);
        }
        bail!("Unknown agent id \"{named}\". Use \"yabby agents list\" to see configured agents.")
    }

    /// The session that `wanted` names, in the store of one agent or in all of them.
    ///
    /// A store that cannot be read stops nobody who names a session of another one by its key. Anything
    /// else might be meant for a session in there.
    pub fn find(&self, wanted: &str, agent: Option<&AgentId>) -> Result<Found> {
        let Matches { found: mut matches, rank, unread } = self.matches(wanted, agent)?;
        if rank != Some(0)
            && let Some(error) = unread.into_iter().next()
        {
            return Err(match agent {
                Some(_) => error,
                None => error.context(format!(
                    "{wanted:?} cannot be looked for in every store; give the whole key, or --agent"
                )),
            });
        }
        match matches.len() {
            1 => Ok(matches.remove(0)),
            0 => Err(self.unknown(wanted, agent).into()),
            _ => {
                let keys: Vec<&str> = matches.iter().map(|found| found.key.as_str()).collect();
                bail!("{wanted:?} fits several sessions: {}; name one by its key", keys.join(", "))
            }
        }
    }

    /// The key of the session with exactly this id, in the store of one agent or in all of them.
    pub fn by_id(&self, id: &str, agent: Option<&AgentId>) -> Result<Option<SessionKey>> {
        let mut unread = None;
        for (_, path) in self.stores(agent)? {
            match read(&path) {
                Ok((_, rows)) => {
                    let is_it = |row: &Row| row.glance.text(Field::SessionId).as_deref() == Some(id);
                    if let Some(row) = rows.into_iter().find(is_it) {
                        return Ok(Some(row.key));
                    }
                }
                Err(error) => unread = Some(error),
            }
        }
        // It may well be in the store that cannot be read.
        unread.map_or(Ok(None), Err)
    }

    /// The session that changed last, of those that can be read.
    pub fn newest(&self, agent: Option<&AgentId>) -> Result<Option<Found>> {
        let mut newest: Option<(f64, Found)> = None;
        let mut unread = Vec::new();
        for (agent, path) in self.stores(agent)? {
            let (store, mut rows) = match read(&path) {
                Ok(read) => read,
                Err(error) => {
                    unread.push(error);
                    continue;
                }
            };
            newest_first(&mut rows);
            let Some(row) = rows.into_iter().next() else { continue };
            let at = row.glance.number(Field::UpdatedAt).unwrap_or(0.0);
            if newest.as_ref().is_none_or(|(before, _)| at > *before) {
                newest = self.found(row.key, &store, &agent)?.map(|found| (at, found)).or(newest);
            }
        }
        match (newest, unread.into_iter().next()) {
            (None, Some(error)) => Err(error),
            (newest, error) => {
                if let Some(error) = error {
                    anstream::eprintln!("note: {}", failure::told(&error));
                }
                Ok(newest.map(|(_, found)| found))
            }
        }
    }

    /// The earlier conversation that `wanted` names: by its id or the beginning of it.
    pub fn earlier_by_id(
        &self,
        wanted: &str,
        agent: Option<&AgentId>,
    ) -> Result<Option<EarlierConversation>> {
        if wanted.len() < SHORTEST_BEGINNING {
            return Ok(None);
        }
        let mut found = self.earlier(agent)?;
        found.retain(|earlier| earlier.session_id.starts_with(wanted));
        // Of one that was put away more than once, the newest.
        found.dedup_by(|next, first| next.session_id == first.session_id);
        Ok(if found.len() == 1 { found.pop() } else { None })
    }

    /// The earlier conversations of the session that `wanted` names, the last one first. The session itself
    /// need not exist any more.
    pub fn earlier_of(
        &self,
        wanted: &str,
        agent: Option<&AgentId>,
    ) -> Result<(SessionKey, Vec<EarlierConversation>)> {
        let mut earlier = self.earlier(agent)?;
        let key = match self.find(wanted, agent) {
            Ok(found) => found.key,
            Err(error) => {
                let agent = agent.cloned().unwrap_or_default();
                let spelt = self.spellings(wanted, &agent);
                let known = |key: &SessionKey| earlier.iter().any(|one| one.key.as_ref() == Some(key));
                spelt.into_iter().find(known).ok_or(error)?
            }
        };
        earlier.retain(|one| one.key.as_ref() == Some(&key));
        Ok((key, earlier))
    }

    fn earlier(&self, agent: Option<&AgentId>) -> Result<Vec<EarlierConversation>> {
        let mut all = Vec::new();
        for (_, path) in self.stores(agent)? {
            all.extend(earlier::list(&open(&path)?, &self.place.folder.usage())?);
        }
        all.sort_by(|one, other| other.updated_at.total_cmp(&one.updated_at));
        Ok(all)
    }

    /// The stores of an agent, or of all.
    pub fn stores(&self, agent: Option<&AgentId>) -> Result<Vec<(AgentId, PathBuf)>> {
        let agents = match agent {
            Some(agent) => vec![agent.clone()],
            None => self.agents()?,
        };
        let mut stores: Vec<(AgentId, PathBuf)> = Vec::new();
        for agent in agents {
            let path = self.store_path(&agent);
            // One store may serve all agents.
            if !stores.iter().any(|(_, other)| *other == path) {
                stores.push((agent, path));
            }
        }
        Ok(stores)
    }

    /// Those that the text names best: by key, else by id, else by label, else by the beginning of an id.
    fn matches(&self, wanted: &str, agent: Option<&AgentId>) -> Result<Matches> {
        let mut best = Matches::default();
        for (agent, path) in self.stores(agent)? {
            let (store, rows) = match read(&path) {
                Ok(read) => read,
                Err(error) => {
                    best.unread.push(error);
                    continue;
                }
            };
            let spelt = self.spellings(wanted, &agent);
            for row in rows {
                let is_as_good = |rank: &usize| best.rank.is_none_or(|best| *rank <= best);
                let Some(rank) = rank(wanted, &spelt, &row).filter(is_as_good) else { continue };
                if best.rank.replace(rank) != Some(rank) {
                    best.found.clear();
                }
                best.found.extend(self.found(row.key, &store, &agent)?);
            }
        }
        Ok(best)
    }

    /// The keys that a person may mean: as it stands, and below the agent.
    fn spellings(&self, wanted: &str, agent: &AgentId) -> [SessionKey; 3] {
        let policy = KeyPolicy::from_config(&self.config);
        [
            SessionKey::new(wanted),
            policy.store_key(wanted),
            policy.resolve_main_alias(agent, &format!("agent:{agent}:{}", text::lower(wanted))),
        ]
    }

    /// All about a session; `None` if it has gone meanwhile.
    fn found(&self, key: SessionKey, store: &SessionFile, agent: &AgentId) -> Result<Option<Found>> {
        let Some(entry) = store.get_blocking(&key)? else { return Ok(None) };
        let agent = key.agent_key().map_or_else(|| agent.clone(), |_| key.agent_id());
        let id = TranscriptId::of_record(&entry).ok();
        let file = self.transcript_file(id.as_ref(), &entry, store.path(), &agent);
        let folder = file.parent().unwrap_or(Path::new(""));
        let conversation = id
            .filter(|_| self.is_ours(&file, store.path()))
            .map(|id| Conversation { folder: TranscriptFolder::open(folder.to_owned()), id });
        Ok(Some(Found { key, entry, store: store.clone(), agent, file, conversation }))
    }

    /// Whether a file is in the state folder or beside the store. A record may name any file; only these are ours to
    /// read, shorten or put away.
    fn is_ours(&self, file: &Path, store: &Path) -> bool {
        let folder = file.parent().unwrap_or(Path::new(""));
        folder.starts_with(self.place.folder.path()) || Some(folder) == store.parent()
    }

    /// The folder of an agent's conversations.
    pub fn conversations(&self, agent: &AgentId) -> PathBuf {
        self.with_folders(|folders| path::sessions_folder(folders.state, agent)).into()
    }

    /// The first place in which the file of a record is, ours before others; else the one where it would be.
    fn transcript_file(
        &self,
        id: Option<&TranscriptId>,
        entry: &SessionEntry,
        store: &Path,
        agent: &AgentId,
    ) -> PathBuf {
        let id = id.map_or(entry.session_id().unwrap_or_default(), TranscriptId::as_str);
        let beside = store.to_string_lossy();
        let places = self.with_folders(|folders| {
            candidates(id, entry.session_file(), Some(&beside), Some(agent), folders)
        });
        let plain = |place: String| {
            self.with_folders(|folders| path::user_path(&place, folders.home, folders.current))
        };
        let places: Vec<PathBuf> = places.into_iter().map(|place| plain(place).into()).collect();
        let is_there = |place: &&PathBuf| place.exists() || place.with_added_extension("journal").exists();
        let ours = || places.iter().filter(|place| self.is_ours(place, store));
        let found = ours().find(is_there).or_else(|| places.iter().find(is_there));
        found.or(places.first()).cloned().unwrap_or_default()
    }

    fn unknown(&self, wanted: &str, agent: Option<&AgentId>) -> Failure {
        let place = match agent {
            Some(agent) => format!("the sessions of {agent}"),
            None => self.place.shortened(self.place.folder.path()),
        };
        Failure::bare(format!(
            "No session found: {wanted}\nNothing in {place} has this key, id or label; `yabby sessions` lists what there is."
        ))
    }

    pub fn with_folders<T>(&self, act: impl FnOnce(&Folders<'_>) -> T) -> T {
        self.place.with_folders(act)
    }
}

/// How much of an id names a session.
const SHORTEST_BEGINNING: usize = 4;

/// How well a text names a session, zero best. A bare `main` is that of the default agent first.
fn rank(wanted: &str, spelt: &[SessionKey; 3], row: &Row) -> Option<usize> {
    let Row { key, glance, .. } = row;
    let id = glance.text(Field::SessionId).unwrap_or_default();
    let is_label = |label: &str| text::lower(label) == text::lower(text::trim(wanted));
    let [as_written, of_policy, below_agent] = spelt;
    let checks = [
        key == as_written || key == of_policy,
        key == below_agent,
        id == wanted,
        glance.labels().iter().any(|label| is_label(label)),
        wanted.len() >= SHORTEST_BEGINNING && id.starts_with(wanted),
    ];
    checks.into_iter().position(|fits| fits)
}

pub fn open(path: &Path) -> Result<SessionFile> {
    Ok(SessionFile::open(path, Settings::from_environment())?)
}

fn read(path: &Path) -> Result<(SessionFile, Vec<Row>)> {
    let store = open(path)?;
    let rows = rows(&store)?;
    Ok((store, rows))
}

pub fn rows(store: &SessionFile) -> Result<Vec<Row>> {
    Ok(store.glances_blocking()?.into_iter().map(|(key, glance)| Row::new(key, glance)).collect())
}
