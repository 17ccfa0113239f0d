//! Errands, one JSON object per line in and one out, as `judge.mjs` does them for the reference. What is
//! compared exactly travels as JSON text inside a string.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use serde::Deserialize;
use serde_json::json;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::{Begin, Fork, StoreError};
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::context::Context;
use yabby_domain::transcript::entry::Entry;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::line_compact::MaxLines;
use yabby_store::files::sessions::{SessionFile, Settings};
use yabby_store::files::transcripts::{TranscriptFolder, Writer};

use crate::gate::Gate;
use crate::memory::{self, Memory};
use crate::steps::{Deed, Step};
use crate::{Result, measure, say};

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "camelCase")]
enum Errand {
    List {
        store: PathBuf,
    },
    Update {
        store: PathBuf,
        key: String,
        set: Object,
        #[serde(default)]
        remove: Vec<String>,
    },
    Remove {
        store: PathBuf,
        key: String,
    },
    Close {
        store: PathBuf,
    },
    Storm {
        store: PathBuf,
        who: String,
        first: u64,
        count: u64,
        shared: String,
    },
    Hold {
        store: PathBuf,
    },
    Release {
        store: PathBuf,
    },
    Context {
        file: PathBuf,
    },
    Entries {
        file: PathBuf,
    },
    Write {
        file: PathBuf,
        session: Option<String>,
        cwd: Option<String>,
        steps: Vec<Step>,
    },
    Compact {
        file: PathBuf,
        keep: Value,
    },
    HoldTranscript {
        file: PathBuf,
    },
    ReleaseTranscript {
        file: PathBuf,
    },
    Updates {
        store: PathBuf,
        keys: Vec<String>,
        writers: usize,
        count: usize,
    },
    Appends {
        folder: PathBuf,
        writers: usize,
        count: usize,
        message: Object,
    },
    BesideTheDisk {
        folder: PathBuf,
        keys: Vec<String>,
        count: usize,
        message: Object,
    },
    Preview {
        file: PathBuf,
        rounds: usize,
    },
    OpenMemory {
        state: String,
        config: Value,
    },
    Memory {
        deed: memory::Deed,
    },
}

pub fn serve() -> Result<()> {
    let mut desk = Desk::default();
    say(&json!({ "event": "ready" }))?;
    for line in std::io::stdin().lock().lines() {
        let errand =
            json::parse(&line?).map_err(Into::into).and_then(|errand| Ok(serde_json::from_value(errand)?));
        match errand.and_then(|errand| desk.run(errand)) {
            Ok(answer) => say(&json!({ "ok": answer }))?,
            Err(error) => say(&json!({ "error": error.to_string() }))?,
        }
    }
    Ok(())
}

/// What is open between errands.
#[derive(Default)]
struct Desk {
    stores: HashMap<PathBuf, SessionFile>,
    held_stores: HashMap<PathBuf, HeldStore>,
    held_transcripts: HashMap<PathBuf, Writer>,
    memory: Option<Memory>,
}

struct HeldStore {
    gate: Arc<Gate>,
    flush: JoinHandle<std::result::Result<(), StoreError>>,
}

impl Desk {
    fn run(&mut self, errand: Errand) -> Result<Value> {
        match errand {
            Errand::List { store } => self.list(&store),
            Errand::Update { store, key, set, remove } => {
                let mut patch = Patch::from_object(&set);
                remove.iter().for_each(|field| patch.put(field, None));
                update(self.store(&store)?, &key, patch)
            }
            Errand::Remove { store, key } => {
                self.store(&store)?
                    .update_blocking(&SessionKey::new(key), Box::new(|record| *record = None))?;
                Ok(Value::Null)
            }
            Errand::Close { store } => {
                self.store(&store)?.flush()?;
                ensure_quiet(self.store(&store)?)?;
                self.stores.remove(&store);
                Ok(Value::Null)
            }
            Errand::Storm { store, who, first, count, shared } => {
                storm(self.store(&store)?, &who, first..first + count, &shared)
            }
            Errand::Hold { store } => self.hold(&store),
            Errand::Release { store } => self.release(&store),
            Errand::Context { file } => reading(&file),
            Errand::Entries { file } => entries(&file),
            Errand::Write { file, session, cwd, steps } => write(&file, session, cwd, steps),
            Errand::Compact { file, keep } => {
                let (folder, id) = transcript(&file)?;
                let keep = MaxLines::from_value(Some(&keep)).map_err(|error| format!("{error:?}"))?;
                let done = folder.compact_blocking(&id, keep)?;
                Ok(format!("{done:?}").into())
            }
            Errand::HoldTranscript { file } => {
                let (folder, id) = transcript(&file)?;
                let writer = folder.open_blocking(&id, &begin(&id, None, None))?;
                self.held_transcripts.insert(file, writer);
                Ok(Value::Null)
            }
            Errand::ReleaseTranscript { file } => {
                self.held_transcripts.remove(&file).ok_or("it is not held")?;
                Ok(Value::Null)
            }
            Errand::Updates { store, keys, writers, count } => {
                measure::updates(self.store(&store)?, &keys, writers, count)
            }
            Errand::Appends { folder, writers, count, message } => {
                measure::appends(&folder, writers, count, &message)
            }
            Errand::BesideTheDisk { folder, keys, count, message } => {
                let store = self.store(&folder.join("sessions.json"))?.clone();
                measure::beside_the_disk(&folder, &store, &keys, count, &message)
            }
            Errand::Preview { file, rounds } => measure::preview(&file, rounds),
            Errand::OpenMemory { state, config } => {
                self.memory = Some(Memory::open(&state, config)?);
                Ok(Value::Null)
            }
            Errand::Memory { deed } => self.memory.as_ref().ok_or("no memory is open")?.act(deed),
        }
    }

    fn store(&mut self, path: &Path) -> Result<&SessionFile> {
        if !self.stores.contains_key(path) {
            let store = SessionFile::open(path, Settings::from_environment())?;
            self.stores.insert(path.to_owned(), store);
        }
        self.stores.get(path).ok_or_else(|| "it was just opened".into())
    }

    fn list(&mut self, store: &Path) -> Result<Value> {
        let records = self.store(store)?.list_blocking()?;
        let text = |(key, record): (SessionKey, SessionEntry)| {
            json!([key.as_str(), json::stringify_object(record.as_object())])
        };
        Ok(json!({ "entries": records.into_iter().map(text).collect::<Vec<_>>() }))
    }

    /// Begins to write the store, and stops while its lock is held.
    fn hold(&mut self, store: &Path) -> Result<Value> {
        let gate = Arc::new(Gate::default());
        let held = SessionFile::open(store, Settings { disk: gate.clone(), ..Settings::default() })?;
        update(&held, "agent:main:held", Patch::from_object(&object(json!({ "sessionId": "held" }))))?;
        gate.shut();
        let flush = std::thread::spawn(move || held.flush());
        gate.wait_for_somebody();
        self.held_stores.insert(store.to_owned(), HeldStore { gate, flush });
        Ok(Value::Null)
    }

    fn release(&mut self, store: &Path) -> Result<Value> {
        let held = self.held_stores.remove(store).ok_or("it is not held")?;
        held.gate.open();
        held.flush.join().map_err(|_| "the writer of the store panicked")??;
        Ok(Value::Null)
    }
}

/// A store has nothing to complain about in these stories.
fn ensure_quiet(store: &SessionFile) -> Result<()> {
    let notices = store.notices()?;
    if notices.is_empty() { Ok(()) } else { Err(format!("the store complains: {notices:?}").into()) }
}

fn update(store: &SessionFile, key: &str, patch: Patch) -> Result<Value> {
    let change =
        Box::new(move |record: &mut Option<SessionEntry>| record.get_or_insert_default().apply(&patch));
    store.update_blocking(&SessionKey::new(key), change)?;
    Ok(Value::Null)
}

/// Each round is two updates: a record of its own, and a field of its own in the shared one.
fn storm(store: &SessionFile, who: &str, rounds: std::ops::Range<u64>, shared: &str) -> Result<Value> {
    for round in rounds {
        let record = json!({ "sessionId": format!("{who}-{round}"), "updatedAt": 1_768_469_400_000 + round, who: round });
        update(store, &format!("agent:main:{who}:{round}"), Patch::from_object(&object(record)))?;
        let field = json!({ format!("{who}{round}"): round });
        update(store, shared, Patch::from_object(&object(field)))?;
        say(&json!({ "event": "updated", "number": round }))?;
    }
    ensure_quiet(store)?;
    Ok(Value::Null)
}

pub fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

pub fn conversations(folder: &Path) -> Result<TranscriptFolder> {
    Ok(TranscriptFolder::open(folder))
}

/// The folder of a transcript, and its name there.
pub fn transcript(file: &Path) -> Result<(TranscriptFolder, TranscriptId)> {
    let folder = file.parent().ok_or("a transcript is in a folder")?;
    let name = file.file_name().and_then(|name| name.to_str()).ok_or("a transcript has a name")?;
    Ok((conversations(folder)?, TranscriptId::of_file(name)?))
}

pub fn begin(id: &TranscriptId, session: Option<String>, cwd: Option<String>) -> Begin {
    Begin {
        session_id: session.unwrap_or_else(|| id.as_str().to_owned()),
        cwd: cwd.unwrap_or_else(|| "/w".to_owned()),
        parent: None,
    }
}

/// A transcript as far as the reference can tell the same of it.
fn reading(file: &Path) -> Result<Value> {
    let (folder, id) = transcript(file)?;
    let whole = folder.load_blocking(&id)?.ok_or("there is no such transcript")?;
    let context = folder.context_plan(&id)?.ok_or("there is no such transcript")?.into_context()?;
    if context != whole.context() {
        return Err("the context that was read alone is another than that of the whole".into());
    }
    let label = |entry: &Entry| entry.key().and_then(|id| whole.label(id)).map(str::to_owned);
    Ok(json!({
        "context": json::stringify_object(&context_object(context)),
        "session": whole.session_id(),
        "leaf": whole.leaf_id(),
        "name": whole.name(),
        "entries": whole.entries().len(),
        "branch": whole.branch().iter().map(|entry| entry.id()).collect::<Vec<_>>(),
        "labels": whole.entries().iter().map(label).collect::<Vec<_>>(),
    }))
}

fn context_object(context: Context) -> Object {
    let mut object = Object::new();
    let messages = context.messages.into_iter().map(yabby_domain::message::Message::into_value).collect();
    object.insert("messages".to_owned(), Value::Array(messages));
    object.insert("thinkingLevel".to_owned(), context.thinking_level.into());
    let model = context.model.map(|model| {
        let mut used = Object::new();
        for (name, text) in [("provider", model.provider), ("modelId", model.model_id)] {
            text.map(|text| used.insert(name.to_owned(), text.into()));
        }
        Value::Object(used)
    });
    object.insert("model".to_owned(), model.unwrap_or_default());
    object
}

/// Every line of a transcript as it is read, the header first.
fn entries(file: &Path) -> Result<Value> {
    let (folder, id) = transcript(file)?;
    let Some(whole) = folder.load_blocking(&id)? else { return Ok(Value::Null) };
    let lines = whole.entries().iter().map(Entry::line).collect::<Vec<_>>();
    Ok(json!({ "session": whole.session_id(), "leaf": whole.leaf_id(), "lines": lines }))
}

fn write(file: &Path, session: Option<String>, cwd: Option<String>, steps: Vec<Step>) -> Result<Value> {
    let (folder, id) = transcript(file)?;
    let mut writer = folder.open_blocking(&id, &begin(&id, session, cwd))?;
    let mut ids = Vec::new();
    let mut forks = Vec::new();
    for step in steps {
        let made = match step.deed(&ids)? {
            Deed::Append(entry) => writer.append(vec![entry])?.pop(),
            Deed::Move(to) => {
                writer.move_leaf(to.as_deref())?;
                None
            }
            Deed::Branch(to, left) => Some(writer.branch(to.as_deref(), left)?),
            Deed::Fork(at) => {
                forks.push(folder.fork_blocking(&id, &Fork::At(at))?);
                None
            }
            Deed::ForkWhole(cwd) => {
                forks.push(folder.fork_blocking(&id, &Fork::Whole { cwd })?);
                None
            }
        };
        ids.push(made);
    }
    let forks: Vec<PathBuf> = forks.iter().map(|fork| file.with_file_name(fork.file_name())).collect();
    Ok(json!({ "ids": ids, "forks": forks }))
}
