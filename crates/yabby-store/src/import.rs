//! Adopting the folder of another program of the family (the seed documents).
//!
//! The source is only read. Sessions keep their ids, so that the same folder can be taken over again:
//! what is here already stays, what has grown there grows here, and what was gone on with here is left
//! alone.

mod database;
mod openbot;
mod openclaudecode;
mod settings;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use yabby_domain::id::AgentId;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::StoreError;
use yabby_domain::session::adopt::{Program, adopted_key, keys_for};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::{
    self,
    adopt::{Adoption, adopted},
};

use crate::files::sessions::{SessionFile, Settings};
use crate::files::transcripts::{Adopted, TranscriptFolder};

pub use settings::Setting;

/// Why a folder cannot be taken over.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{0} is no folder; name the folder that {1} keeps its data in")]
    NoFolder(String, &'static str),
    #[error("{0} holds nothing of {1}: {2}")]
    NothingThere(String, &'static str, &'static str),
    #[error("{folder} is a folder of {found}, not of {wanted}; run: yabby import {command} {folder}")]
    OtherProgram { folder: String, found: &'static str, wanted: &'static str, command: &'static str },
    #[error("cannot read {path}: {why}")]
    Unreadable { path: String, why: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What was found in a source.
#[derive(Debug, Default)]
pub struct Source {
    pub sessions: Vec<Foreign>,
    /// Settings that have a place here.
    pub settings: Vec<Setting>,
    /// What is not taken over, and why.
    pub left: Vec<String>,
}

/// A session as the other program keeps it.
#[derive(Clone, Debug)]
pub struct Foreign {
    pub key: String,
    pub session_id: String,
    /// Its record, in our names as far as they are known.
    pub record: Object,
    /// The lines of its transcript.
    pub lines: String,
    /// Milliseconds since 1970.
    pub updated_at: f64,
}

/// Where sessions go.
pub struct Target<'t> {
    /// The agent that stands for the default one of the source.
    pub default_agent: AgentId,
    /// The store of an agent.
    pub store: &'t dyn Fn(&AgentId) -> PathBuf,
    /// The folder that an agent works in.
    pub workspace: &'t dyn Fn(&AgentId) -> String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Real,
    /// Nothing is written.
    DryRun,
}

/// What became of one session.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub from: String,
    pub key: SessionKey,
    pub session_id: String,
    pub messages: usize,
    pub adopted: Adopted,
}

/// Reads the folder of a program.
pub fn read(program: Program, folder: &Path) -> Result<Source, ImportError> {
    if !folder.is_dir() {
        return Err(ImportError::NoFolder(folder.display().to_string(), program.name()));
    }
    if let Some((other, command)) = program_of(folder).filter(|(found, _)| *found != program) {
        let folder = folder.display().to_string();
        let (found, wanted) = (other.name(), program.name());
        return Err(ImportError::OtherProgram { folder, found, wanted, command });
    }
    let mut source = match program {
        Program::OpenBot => openbot::read(folder)?,
        Program::OpenClaudeCode => openclaudecode::read(folder)?,
    };
    settings::read(folder, &mut source)?;
    if source.sessions.is_empty() && source.settings.is_empty() {
        let expected = match program {
            Program::OpenBot => {
                "no agents/<agent>/sessions and no database; its folder is usually ~/.openbot"
            }
            Program::OpenClaudeCode => {
                "no sessions/*.jsonl and no database; its folder is usually ~/.openclaudecode"
            }
        };
        return Err(ImportError::NothingThere(folder.display().to_string(), program.name(), expected));
    }
    source.leave_unsafe_names();
    // The newest session of a person takes the person's key.
    source.sessions.sort_by(|a, b| b.updated_at.total_cmp(&a.updated_at));
    Ok(source)
}

/// The program whose folder it is, and what `import` calls it; `None` where nothing tells them apart. Both have a
/// database; conversations lie below `agents/` in one, and directly in `sessions/` in the other.
fn program_of(folder: &Path) -> Option<(Program, &'static str)> {
    let has = |name: &str| folder.join(name).exists();
    match (has("agents") || has("openbot.yaml"), has("sessions") || has("openclaudecode.yaml")) {
        (true, false) => Some((Program::OpenBot, "openbot")),
        (false, true) => Some((Program::OpenClaudeCode, "openclaudecode")),
        _ => None,
    }
}

/// Takes the sessions of a source over, and says what became of each.
pub fn adopt(
    program: Program,
    source: &Source,
    target: &Target<'_>,
    mode: Mode,
) -> Result<Vec<Outcome>, ImportError> {
    let mut homes: HashMap<AgentId, AgentHome> = HashMap::new();
    let mut outcomes = Vec::new();
    for foreign in &source.sessions {
        let wanted = adopted_key(program, &foreign.key, &target.default_agent);
        let home = match homes.entry(wanted.agent_id()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let home = AgentHome::open(unknown.key(), target)?;
                unknown.insert(home)
            }
        };
        outcomes.push(home.adopt(program, foreign, wanted, mode)?);
    }
    Ok(outcomes)
}

/// Where the sessions of one agent go.
struct AgentHome {
    store: SessionFile,
    transcripts: TranscriptFolder,
    workspace: String,
    /// The keys that are in use.
    taken: HashSet<SessionKey>,
    /// The key of each session that is here.
    known: HashMap<String, SessionKey>,
}

impl AgentHome {
    fn open(agent: &AgentId, target: &Target<'_>) -> Result<Self, StoreError> {
        let path = (target.store)(agent);
        let store = SessionFile::open(&path, Settings::from_environment())?;
        let mut home = Self {
            transcripts: TranscriptFolder::open(path.parent().unwrap_or(Path::new(""))),
            workspace: (target.workspace)(agent),
            taken: HashSet::new(),
            known: HashMap::new(),
            store,
        };
        for (key, entry) in home.store.list_blocking()? {
            home.take(key, entry.session_id().unwrap_or_default());
        }
        Ok(home)
    }

    fn take(&mut self, key: SessionKey, session_id: &str) {
        self.known.insert(session_id.to_owned(), key.clone());
        self.taken.insert(key);
    }

    fn adopt(
        &mut self,
        program: Program,
        foreign: &Foreign,
        wanted: SessionKey,
        mode: Mode,
    ) -> Result<Outcome, ImportError> {
        let (id, text) = self.named(foreign)?;
        let mut keys = keys_for(&wanted, id.as_str());
        let mut free = |taken: &HashSet<SessionKey>| {
            let free = keys.by_ref().find(|key| !taken.contains(key));
            free.unwrap_or_else(|| wanted.clone())
        };
        let mut key = match self.known.get(id.as_str()) {
            Some(known) => known.clone(),
            None => free(&self.taken),
        };
        let adopted = match mode {
            Mode::DryRun => self.transcripts.would_adopt(&id, &text)?,
            Mode::Real => {
                // The conversation first: a record without one would be an empty session.
                let adopted = self.transcripts.adopt_blocking(&id, &text)?;
                // Somebody may have taken the key meanwhile: then it is theirs.
                while !record(&self.store, &key, id.as_str(), foreign, program, adopted)? {
                    self.taken.insert(key);
                    key = free(&self.taken);
                }
                adopted
            }
        };
        self.take(key.clone(), id.as_str());
        let entries = foreign.lines.lines().filter_map(transcript::entry::Entry::parse);
        let messages = entries.filter(transcript::pieces::is_message).count();
        Ok(Outcome { from: foreign.key.clone(), key, session_id: id.as_str().to_owned(), messages, adopted })
    }

    /// What a session is called here, and its transcript: if another conversation has its id, one that is
    /// made of how it begins, so that it is the same the next time.
    fn named(&self, foreign: &Foreign) -> Result<(TranscriptId, String), StoreError> {
        let id = TranscriptId::new(&foreign.session_id, None)?;
        let text = foreign.text(id.as_str(), &self.workspace);
        if !self.transcripts.holds_another(&id, &text)? {
            return Ok((id, text));
        }
        let id = TranscriptId::new(&foreign.other_id(), None)?;
        let text = foreign.text(id.as_str(), &self.workspace);
        Ok((id, text))
    }
}

/// Writes the record of a session that is new here; one that is here is only told of what is new. `false` if
/// the key is another session's.
fn record(
    store: &SessionFile,
    key: &SessionKey,
    session_id: &str,
    foreign: &Foreign,
    program: Program,
    adopted: Adopted,
) -> Result<bool, StoreError> {
    let mut record = foreign.record.clone();
    record.insert("sessionId".to_owned(), session_id.into());
    record.insert("updatedAt".to_owned(), json::number(foreign.updated_at));
    // Where it would be otherwise is a path of the other program's.
    record.shift_remove("sessionFile");
    let mut origin = Object::new();
    origin.insert("program".to_owned(), program.name().into());
    origin.insert("key".to_owned(), foreign.key.as_str().into());
    record.insert("importedFrom".to_owned(), Value::Object(origin));
    let new = SessionEntry::new(record);
    let updated_at = foreign.updated_at;
    let own_id = session_id.to_owned();
    let change = move |entry: &mut Option<SessionEntry>| match entry {
        None => *entry = Some(new),
        Some(here) if here.session_id() != Some(&own_id) => {}
        Some(here) if adopted == Adopted::Grown && here.updated_at().is_none_or(|at| at < updated_at) => {
            let mut record = here.clone().into_object();
            record.insert("updatedAt".to_owned(), json::number(updated_at));
            *here = SessionEntry::new(record);
        }
        Some(_) => {}
    };
    let here = store.update_blocking(key, Box::new(change))?;
    Ok(here.is_some_and(|here| here.session_id() == Some(session_id)))
}

impl Source {
    /// Sessions whose ids cannot be the names of files stay where they are.
    fn leave_unsafe_names(&mut self) {
        let Self { sessions, left, .. } = self;
        sessions.retain(|foreign| match TranscriptId::new(&foreign.session_id, None) {
            Ok(_) => true,
            Err(error) => {
                left.push(format!("{}: {error}", foreign.key));
                false
            }
        });
    }
}

impl Foreign {
    /// An id for when its own is taken.
    fn other_id(&self) -> String {
        let beginning = self.lines.lines().find(|line| !line.trim().is_empty()).unwrap_or(&self.key);
        let digest = Sha256::digest(beginning);
        let digest: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{digest}", self.session_id)
    }

    fn text(&self, session_id: &str, workspace: &str) -> String {
        let field =
            |name: &str| self.record.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        adopted(
            &self.lines,
            &Adoption {
                session_id,
                cwd: workspace,
                provider: field("modelProvider").unwrap_or("anthropic"),
                model: field("model").unwrap_or("unknown"),
            },
        )
    }

    /// A conversation of which only its file tells; `key` makes one of its id and its lines.
    fn of_file(file: &Path, key: impl FnOnce(&str, &str) -> String) -> Result<Self, ImportError> {
        let session_id = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let lines = read_text(file)?;
        Ok(Self {
            key: key(&session_id, &lines),
            updated_at: Self::last_time(&lines, file),
            session_id,
            record: Object::new(),
            lines,
        })
    }

    /// When the last line was written, else when the file was.
    fn last_time(lines: &str, file: &Path) -> f64 {
        let times = lines.lines().rev().filter_map(transcript::entry::Entry::parse);
        let said = times.filter_map(|entry| entry.time()).find(|time| *time > 0.0);
        said.unwrap_or_else(|| modified(file))
    }
}

fn modified(file: &Path) -> f64 {
    let time = std::fs::metadata(file).and_then(|metadata| metadata.modified()).ok();
    let time = time.and_then(|time| Timestamp::try_from(time).ok());
    #[expect(clippy::cast_precision_loss, reason = "a date of our days")]
    time.map_or(0.0, |time| time.as_millisecond() as f64)
}

fn read_text(path: &Path) -> Result<String, ImportError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(yabby_domain::text::lossy(&bytes).into_owned()),
        Err(error) => {
            Err(ImportError::Unreadable { path: path.display().to_string(), why: error.to_string() })
        }
    }
}

/// The transcript of a session in a folder, if there is one. Its id names nothing outside.
fn transcript_of(folder: &Path, session_id: &str) -> Option<PathBuf> {
    let id = TranscriptId::new(session_id, None).ok()?;
    Some(folder.join(id.file_name())).filter(|file| file.is_file())
}

/// The files of a folder with one of these endings, by name; none if there is no such folder.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_wanted = |path: &PathBuf| {
        path.is_file()
            && path
                .extension()
                .and_then(|ending| ending.to_str())
                .is_some_and(|ending| endings.contains(&ending))
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_wanted).collect();
    files.sort();
    files
}
