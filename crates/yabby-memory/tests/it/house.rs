//! An agent with a workspace, conversations and a memory of them.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tempfile::TempDir;
use yabby_domain::seam::SessionStore as _;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_memory::audience::Viewer;
use yabby_memory::memory::{Found, Meaning, Memory, Search};
use yabby_memory::recall::Filter;
use yabby_testkit::memory_store::MemorySessions;
use yabby_testkit::remembering;

pub struct House {
    pub folder: TempDir,
    pub sessions: MemorySessions,
    pub memory: Memory,
}

impl House {
    pub fn new() -> Self {
        Self::with(json!({}), None)
    }

    pub fn with(config: Value, meaning: Option<Meaning>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sessions = MemorySessions::default();
        for name in ["workspace/memory", "sessions"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let memory = open(&folder, &sessions, config, meaning);
        Self { folder, sessions, memory }
    }

    /// The same in a program that was started anew.
    pub fn restart(&mut self) {
        self.memory = open(&self.folder, &self.sessions, json!({}), None);
    }

    pub fn index(&self) -> PathBuf {
        self.folder.path().join("recall/main.sqlite")
    }

    pub fn put(&self, path: &str, text: &str) {
        let path = self.folder.path().join("workspace").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn transcript(&self, id: &str) -> PathBuf {
        self.folder.path().join(format!("sessions/{id}.jsonl"))
    }

    /// Something is said at the end of a transcript, by `user` or `assistant`.
    pub fn say(&self, id: &str, role: &str, text: &str) {
        let path = self.transcript(id);
        let is_new = !path.exists();
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
        if is_new {
            writeln!(file, "{}", json!({"type": "session", "version": 3, "id": id})).unwrap();
        }
        let count = fs::read_to_string(&path).unwrap().lines().count();
        let entry = json!({
            "type": "message", "id": format!("{id}-{count}"), "timestamp": "2026-02-03T12:00:00.000Z",
            "message": {"role": role, "content": [{"type": "text", "text": text}]},
        });
        writeln!(file, "{entry}").unwrap();
    }

    /// The built-in helper answers.
    pub fn help(&self, id: &str, text: &str) {
        let count = fs::read_to_string(self.transcript(id)).unwrap().lines().count();
        let entry = json!({
            "type": "message", "id": format!("{id}-{count}"), "timestamp": "2026-02-03T12:00:01.000Z",
            "message": {"role": "assistant", "provider": "offline", "model": "rules",
                "content": [{"type": "text", "text": text}]},
        });
        writeln!(fs::OpenOptions::new().append(true).open(self.transcript(id)).unwrap(), "{entry}").unwrap();
    }

    pub async fn record(&self, key: &str, id: &str, mut fields: Value) {
        fields["sessionId"] = id.into();
        let record = SessionEntry::new(fields.as_object().unwrap().clone());
        let change = Box::new(move |entry: &mut Option<SessionEntry>| *entry = Some(record));
        self.sessions.update(&SessionKey::new(key), change).await.unwrap();
    }

    /// A session in which somebody said something, and was answered.
    pub async fn session(&self, key: &str, id: &str, text: &str) {
        self.record(key, id, json!({})).await;
        self.say(id, "user", text);
        self.say(id, "assistant", "Noted.");
    }

    pub async fn search(&self, text: &str, viewer: Viewer) -> Found {
        self.search_at(text, viewer, Timestamp::now(), TimeZone::UTC).await
    }

    /// A search of somebody whose clock shows this.
    pub async fn search_at(&self, text: &str, viewer: Viewer, now: Timestamp, zone: TimeZone) -> Found {
        let search = Search {
            text: text.to_owned(),
            viewer,
            filter: Filter::default(),
            most: 10,
            least: 0.0,
            around: 0,
            now,
            zone,
        };
        self.memory.search(search).await.unwrap()
    }

    /// What the owner finds: `path:line`. Everything could be looked at.
    pub async fn found(&self, text: &str) -> Vec<String> {
        let found = self.search(text, Viewer::owner()).await;
        assert_eq!(found.unread, [""; 0]);
        places(&found)
    }
}

pub fn places(found: &Found) -> Vec<String> {
    found.hits.iter().map(|hit| format!("{}:{}", hit.path, hit.unit.first_line)).collect()
}

fn open(folder: &TempDir, sessions: &MemorySessions, config: Value, meaning: Option<Meaning>) -> Memory {
    remembering::memory(remembering::places(folder.path()), sessions, config, meaning).unwrap()
}
