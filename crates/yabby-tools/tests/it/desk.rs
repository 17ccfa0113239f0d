//! A workspace with tools, and conversations to look through.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::message::Message;
use yabby_domain::seam::tool::{Tool, ToolContext, ToolOutput};
use yabby_domain::seam::{Begin, SessionStore as _, TranscriptStore as _};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::path::Folders;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::tree::NewEntry;
use yabby_memory::compat::{self, Reference};
use yabby_memory::memory::{Memory, Parts, Places, Ranking};
use yabby_memory::settings::Settings;
use yabby_store::disk::LocalDisk;
use yabby_store::files::exec_approvals::ExecApprovalsFile;
use yabby_store::files::transcripts::TranscriptFolder;
use yabby_store::paths::{Choice, Place};
use yabby_testkit::desk::owners_call;
use yabby_testkit::hashed_embedder::{HashedEmbedder, alone};
use yabby_testkit::memory_store::MemorySessions;
use yabby_testkit::note_office::NoteOffice;
use yabby_testkit::remembering;
use yabby_tools::{Conversations, Leash};

pub struct Desk {
    folder: PathBuf,
    _kept: Option<TempDir>,
    pub sessions: MemorySessions,
    pub transcripts: TranscriptFolder,
    pub tools: Vec<Arc<dyn Tool>>,
    pub context: ToolContext,
    pub office: NoteOffice,
    pub approvals: ExecApprovalsFile,
}

impl Desk {
    pub fn new() -> Self {
        let kept = tempfile::tempdir().unwrap();
        let desk = Self::at(kept.path());
        Self { _kept: Some(kept), ..desk }
    }

    /// In a folder that somebody else looks after.
    pub fn at(folder: &Path) -> Self {
        let folder = folder.to_owned();
        let sessions = MemorySessions::default();
        let transcripts = TranscriptFolder::open(transcripts_in(&folder));
        let conversations = Conversations {
            sessions: Arc::new(sessions.clone()),
            transcripts: Arc::new(transcripts.clone()),
        };
        let office = NoteOffice::default();
        let (approvals, leash) = leash(&folder);
        let context = owners_call(Arc::default(), &office, folder.join("workspace"));
        fs::create_dir_all(&context.workspace).unwrap();
        let memory = memory(&folder, &sessions, json!({}));
        let tools = yabby_tools::all(conversations, leash, Some(&memory));
        Self { tools, folder, _kept: None, sessions, transcripts, context, office, approvals }
    }

    /// The folder of everything.
    pub fn state(&self) -> PathBuf {
        self.folder.join("home/.yabby")
    }

    pub fn configure(&mut self, config: Value) {
        self.context.config = Arc::new(Config::new(config));
    }

    /// Whatever a command is, it may run.
    pub fn let_anything_run(&mut self) {
        self.configure(json!({"tools": {"exec": {"security": "full", "ask": "off"}}}));
    }

    /// The same tools in a program that was started anew.
    pub fn restarted(&self) -> Vec<Arc<dyn Tool>> {
        let conversations = Conversations {
            sessions: Arc::new(self.sessions.clone()),
            transcripts: Arc::new(self.transcripts.clone()),
        };
        let memory = memory(&self.folder, &self.sessions, self.context.config.raw().clone());
        yabby_tools::all(conversations, leash(&self.folder).1, Some(&memory))
    }

    /// The same tools where the reference's ranking was asked for (`memory.ranking`).
    pub fn rank_like_reference(&mut self, memory_search: Value) {
        let state = self.folder.join("home/.yabby").to_string_lossy().into_owned();
        let folders = Folders { state: &state, home: &state, current: "/" };
        let config = Config::new(json!({"agents": {"defaults": {"memorySearch": memory_search}}}));
        let settings = Settings::from_config(&config, &AgentId::default(), &folders).unwrap();
        let places = compat::Places {
            agent: AgentId::default(),
            workspace: self.context.workspace.clone(),
            sessions: transcripts_in(&self.folder),
        };
        let embedder = Arc::new(HashedEmbedder::new("openai", "words"));
        let reference = Reference::new(places, settings, alone(embedder));
        self.tools = self.tools_with(Ranking::Reference(Ok(reference)));
    }

    /// The same tools with another ranking.
    pub fn tools_with(&self, ranking: Ranking) -> Vec<Arc<dyn Tool>> {
        let conversations = Conversations {
            sessions: Arc::new(self.sessions.clone()),
            transcripts: Arc::new(self.transcripts.clone()),
        };
        let memory = Memory::open(Parts {
            places: places_in(&self.folder),
            config: self.context.config.clone(),
            sessions: Arc::new(self.sessions.clone()),
            secrets: Arc::default(),
            meaning: None,
            ranking,
        });
        yabby_tools::all(conversations, leash(&self.folder).1, Some(&memory.unwrap()))
    }

    pub fn outside(&self) -> &Path {
        &self.folder
    }

    pub fn put(&self, path: &str, text: &str) {
        let path = self.context.workspace.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.context.workspace.join(path)).unwrap()
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        let tool = self.tools.iter().find(|known| known.spec().name == tool).unwrap();
        tool.call(arguments.as_object().unwrap(), &self.context).await
    }

    /// What a tool says, which is no error.
    pub async fn told(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments).await;
        assert!(!output.is_error, "{output:?}");
        text_of(&output)
    }

    /// What a file says, without the fence around what others may have written.
    pub async fn read(&self, arguments: Value) -> String {
        unfenced(&self.told("read", arguments).await)
    }

    /// What a tool says about what is wrong.
    pub async fn refused(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments).await;
        assert!(output.is_error, "{output:?}");
        text_of(&output)
    }

    /// The places and snippets that a search finds.
    pub async fn found(&self, query: &str) -> Vec<(String, String)> {
        let output = self.call("memory_search", json!({"query": query})).await;
        let details = output.details.unwrap();
        let field = |result: &Value, name: &str| result[name].as_str().unwrap().to_owned();
        details["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|result| {
                let snippet = field(result, "snippet");
                let bare = snippet.split("\n\nSource:").next().unwrap().to_owned();
                (format!("{}:{}", field(result, "path"), result["startLine"]), bare)
            })
            .collect()
    }

    /// A session in which these things were said, by user and assistant in turn.
    pub async fn session(&self, key: &str, id: &str, said: &[&str]) {
        let record = json!({"sessionId": id, "updatedAt": 1});
        let record = SessionEntry::new(record.as_object().unwrap().clone());
        let change = Box::new(move |entry: &mut Option<SessionEntry>| *entry = Some(record));
        self.sessions.update(&SessionKey::new(key), change).await.unwrap();
        self.transcript(id, said).await;
    }

    pub async fn transcript(&self, id: &str, said: &[&str]) {
        let begin = Begin { session_id: id.to_owned(), cwd: String::new(), parent: None };
        let id = TranscriptId::new(id, None).unwrap();
        let mut writer = self.transcripts.open(&id, begin).await.unwrap();
        let roles = ["user", "assistant"].iter().cycle();
        let message = |(role, text): (&&str, &&str)| {
            let message = json!({"role": role, "content": [{"type": "text", "text": text}], "timestamp": 7});
            NewEntry::Message(Message::from_value(message).unwrap())
        };
        writer.append(roles.zip(said).map(message).collect()).await.unwrap();
    }
}

fn transcripts_in(folder: &Path) -> PathBuf {
    folder.join("home/.yabby/agents/main/sessions")
}

fn memory(folder: &Path, sessions: &MemorySessions, config: Value) -> Memory {
    remembering::memory(places_in(folder), sessions, config, None).unwrap()
}

fn places_in(folder: &Path) -> Places {
    Places {
        index: folder.join("home/.yabby/recall/main.sqlite"),
        transcripts: transcripts_in(folder),
        ..remembering::places(folder)
    }
}

/// Commands with a home, secrets and a keeper of their own.
fn leash(folder: &Path) -> (ExecApprovalsFile, Leash) {
    let home = folder.join("home");
    fs::create_dir_all(home.join(".yabby")).unwrap();
    let choice = Choice { state: Some(home.join(".yabby")), profile: None };
    let place = Place::find_around(&choice, std::iter::empty().collect(), &home, &home);
    let approvals = ExecApprovalsFile::of(&place, Arc::new(LocalDisk));
    let variables = [
        ("PATH", std::env::var("PATH").unwrap()),
        ("HOME", home.to_string_lossy().into_owned()),
        ("ANTHROPIC_API_KEY", "sk-very-secret".to_owned()),
        ("OPENCLAW_GATEWAY_TOKEN", "token-very-secret".to_owned()),
    ];
    let leash = Leash {
        keeper: env!("CARGO_BIN_EXE_keeper").into(),
        state: home.join(".yabby"),
        home,
        environment: variables.map(|(name, value)| (name.to_owned(), value)).into(),
        approvals: Arc::new(approvals.clone()),
        readable: vec![folder.join("skills"), folder.join("workspace/skills")],
        // As if there were a skill that its settings give a key.
        skill_variables: Arc::new(|config, agent| {
            let entry = config.skills.entries.as_ref().and_then(|entries| entries.get(agent.as_str()));
            let key = entry.and_then(|entry| entry.api_key.clone());
            key.map(|key| ("SKILL_KEY".to_owned(), key)).into_iter().collect()
        }),
    };
    (approvals, leash)
}

/// The text within a fence, and what comes after it.
pub fn unfenced(told: &str) -> String {
    let Some(inside) = told.strip_prefix("[[[ FENCED TEXT ") else { return told.to_owned() };
    let inside = inside.split_once("]]]\n").unwrap().1;
    let (inside, after) = inside.split_once("\n[[[ END OF FENCED TEXT ]]]").unwrap();
    format!("{inside}{after}")
}

pub fn text_of(output: &ToolOutput) -> String {
    let text = output.blocks[0]["text"].as_str().unwrap();
    // What a command wrote, without its fence.
    match text.strip_prefix("[[[ FENCED TEXT from a command.").and_then(|rest| rest.split_once("]]]\n")) {
        Some((_, inside)) => inside.replacen("\n[[[ END OF FENCED TEXT ]]]", "", 1),
        None => text.to_owned(),
    }
}
