//! Conversations that are in no record any more: what was said before a reset, and what was put away.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use yabby_domain::json::{Object, Value, number};
use yabby_domain::session::key::SessionKey;
use yabby_domain::text;
use yabby_domain::transcript::file_name::session_in;
use yabby_domain::transcript::preview;
use yabby_store::files::ledger;
use yabby_store::files::sessions::{SessionFile, earlier_keys};

/// One earlier conversation.
pub struct EarlierConversation {
    /// The session that it was the conversation of, where that was noted.
    pub key: Option<SessionKey>,
    pub session_id: String,
    pub file: PathBuf,
    pub state: State,
    /// When it was written last, in epoch milliseconds.
    pub updated_at: f64,
    /// What the user said first.
    pub title: Option<String>,
}

/// Why it is in no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Another one took its place; the transcript is where it was.
    Replaced,
    /// As above, and the transcript was renamed.
    Reset,
    Deleted,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replaced => "replaced",
            Self::Reset => "reset",
            Self::Deleted => "deleted",
        }
    }
}

/// The earlier conversations beside a store, the one that changed last first.
pub fn list(store: &SessionFile, usage: &Path) -> Result<Vec<EarlierConversation>> {
    let folder = store.path().parent().unwrap_or(Path::new(""));
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files.with_context(|| format!("could not list {}", folder.display()))?,
    };
    let current = current_conversations(store)?;
    let keys = known_keys(store, usage)?;
    let mut found = Vec::new();
    for file in files {
        let path = file?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((transcript, state)) = parse_name(&name) else { continue };
        let session_id = session_in(&transcript).to_owned();
        let is_current = current.contains(&transcript) || current.contains(&session_id);
        // What leads out of the folder is not in it.
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if (state == State::Replaced && is_current) || !metadata.is_file() {
            continue;
        }
        let modified = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
        found.push(EarlierConversation {
            key: keys.get(&session_id).cloned(),
            session_id,
            state,
            #[expect(clippy::cast_precision_loss, reason = "a time")]
            updated_at: modified.map_or(0.0, |time| time.as_millisecond() as f64),
            title: title(&path),
            file: path,
        });
    }
    found.sort_by(|one, other| {
        other.updated_at.total_cmp(&one.updated_at).then_with(|| one.file.cmp(&other.file))
    });
    Ok(found)
}

impl EarlierConversation {
    /// Whether a text is in its key, its id or its title, in any case.
    pub fn contains(&self, wanted: &str) -> bool {
        let wanted = text::lower(text::trim(wanted));
        let key = self.key.as_ref().map_or("", SessionKey::as_str);
        [key, &self.session_id, self.title.as_deref().unwrap_or_default()]
            .into_iter()
            .any(|text| text::lower(text).contains(&*wanted))
    }

    pub fn to_json(&self, now: f64) -> Value {
        let mut out = Object::new();
        let mut put = |name: &str, value: Value| drop(out.insert(name.to_owned(), value));
        put("key", self.key.as_ref().map_or(Value::Null, |key| key.as_str().into()));
        put("sessionId", self.session_id.as_str().into());
        put("state", self.state.as_str().into());
        put("updatedAt", number(self.updated_at));
        put("ageMs", number(now - self.updated_at));
        put("title", self.title.as_deref().map_or(Value::Null, Value::from));
        put("file", self.file.display().to_string().into());
        Value::Object(out)
    }
}

/// The transcript that a file is or was, without its ending, and what became of it. Backups are copies of a
/// conversation and not another one.
fn parse_name(name: &str) -> Option<(String, State)> {
    let (transcript, ending) = name.rsplit_once(".jsonl")?;
    let state = match ending {
        "" => State::Replaced,
        _ if ending.starts_with(".reset.") => State::Reset,
        _ if ending.starts_with(".deleted.") => State::Deleted,
        _ => return None,
    };
    (!transcript.is_empty() && !transcript.starts_with('.')).then(|| (transcript.to_owned(), state))
}

/// The ids and the transcripts of all records.
fn current_conversations(store: &SessionFile) -> Result<HashSet<String>> {
    let mut current = HashSet::new();
    for (_, entry) in store.list_blocking()? {
        current.extend(entry.session_id().map(str::to_owned));
        let named = entry.session_file().and_then(|file| Path::new(file).file_stem());
        current.extend(named.map(|name| name.to_string_lossy().into_owned()));
    }
    Ok(current)
}

/// Which session an id belonged to: from what was noted when it ended, else from the calls of models.
fn known_keys(store: &SessionFile, usage: &Path) -> Result<HashMap<String, SessionKey>> {
    let mut keys = HashMap::new();
    for call in ledger::read(usage, None)?.into_iter().flat_map(|month| month.calls) {
        if !call.session_id.is_empty() && !call.session_key.is_empty() {
            keys.insert(call.session_id, SessionKey::new(&*call.session_key));
        }
    }
    keys.extend(earlier_keys(store.path())?);
    Ok(keys)
}

fn title(path: &Path) -> Option<String> {
    use io::Read as _;
    let mut start = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(preview::FIRST_BYTES as u64).read_to_end(&mut start).ok()?;
    preview::first_user_message(&start)
}
