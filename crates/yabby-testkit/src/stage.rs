//! A stage for whole turns: an engine with everything in memory, a scripted model and a loopback channel.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::inbound::InboundMessage;
use yabby_domain::json::Value;
use yabby_domain::message::Message;
use yabby_domain::model::ModelRef;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::seam::channel::{Capabilities, Channel};
use yabby_domain::seam::model::ModelProvider;
use yabby_domain::seam::recollection::Recollection;
use yabby_domain::seam::tool::Tool;
use yabby_domain::seam::{SessionStore, TranscriptStore};
use yabby_domain::secrets::Secrets;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::path;
use yabby_domain::transcript::Transcript;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_engine::hooks::{Hook, Hooks};
use yabby_engine::{AgentHome, Engine, Parts, Submission, SubmitOutcome, TurnHandle, TurnReport};

use crate::clock::StageClock;
use crate::loopback::Loopback;
use crate::memory_journal::MemoryJournal;
use crate::memory_ledger::MemoryLedger;
use crate::memory_shelf::MemoryShelf;
use crate::memory_store::{MemorySessions, MemoryTranscripts};
use crate::scripted_model::{ScriptedModel, told};

/// Noon of 3 February 2026, UTC.
pub const NOON: i64 = 1_770_120_000_000;

/// Everything that outlives an engine.
#[derive(Clone)]
pub struct Stage {
    pub clock: Arc<StageClock>,
    pub model: ScriptedModel,
    pub more_models: Vec<ScriptedModel>,
    /// Other providers than scripted ones.
    pub providers: Vec<Arc<dyn ModelProvider>>,
    /// The model that answers unless another is chosen.
    pub default_model: ModelRef,
    pub channel: Loopback,
    pub journal: MemoryJournal,
    pub sessions: MemorySessions,
    pub transcripts: MemoryTranscripts,
    pub config: Arc<Config>,
    /// Where agents work; nothing is there unless a test makes it so.
    pub workspace: PathBuf,
    pub tools: Vec<Arc<dyn Tool>>,
    pub hooks: Vec<Arc<dyn Hook>>,
    pub calls: MemoryLedger,
    pub shelf: MemoryShelf,
    pub secrets: Arc<Secrets>,
    /// What is remembered, where a test wants that.
    pub memory: Option<Arc<dyn Recollection>>,
}

impl Stage {
    /// With this configuration, a model that reads 100,000 tokens, and a channel `telegram`.
    pub fn new(config: Value) -> Self {
        let clock = Arc::new(StageClock::at(NOON));
        Self {
            model: ScriptedModel::new(100_000),
            more_models: Vec::new(),
            providers: Vec::new(),
            default_model: ModelRef::new("test", "model"),
            channel: Loopback::new("telegram", Capabilities::default()),
            journal: MemoryJournal::new(clock.clone()),
            sessions: MemorySessions::default(),
            transcripts: MemoryTranscripts::new(clock.clone()),
            config: Arc::new(Config::new(config)),
            workspace: PathBuf::from("/workspace"),
            tools: Vec::new(),
            hooks: Vec::new(),
            calls: MemoryLedger::default(),
            shelf: MemoryShelf::default(),
            secrets: Arc::default(),
            memory: None,
            clock,
        }
    }

    /// An engine on this stage.
    pub fn engine(&self) -> Engine {
        self.engine_with(vec![Arc::new(self.channel.clone())])
    }

    /// An engine on this stage, with these channels instead of its own.
    pub fn engine_with(&self, channels: Vec<Arc<dyn Channel>>) -> Engine {
        let (sessions, transcripts, tools) =
            (self.sessions.clone(), self.transcripts.clone(), self.tools.clone());
        let shelf = self.shelf.clone();
        let workspace = self.workspace.clone();
        let memory = self.memory.clone();
        let homes = move |_: &Config, agent: &AgentId| {
            Ok(AgentHome {
                memory: memory.clone(),
                sessions: Arc::new(sessions.clone()),
                transcripts: Arc::new(transcripts.clone()),
                state: "/state".to_owned(),
                conversations: path::sessions_folder("/state", agent),
                workspace: workspace.clone(),
                tools: tools.clone().into(),
                shelf: Arc::new(shelf.clone()),
                sources: Vec::new(),
            })
        };
        let scripted = std::iter::once(&self.model).chain(&self.more_models);
        let scripted = scripted.map(|model| Arc::new(model.clone()) as Arc<dyn ModelProvider>);
        Engine::new(Parts {
            config: self.config.clone(),
            clock: self.clock.clone(),
            zone: TimeZone::UTC,
            version: "test".to_owned(),
            homes: Box::new(homes),
            journal: Arc::new(self.journal.clone()),
            ledger: Arc::new(self.calls.clone()),
            models: scripted.chain(self.providers.iter().cloned()).collect(),
            default_model: self.default_model.clone(),
            channels,
            hooks: Hooks::new(self.hooks.clone()),
            secrets: self.secrets.clone(),
        })
    }

    /// The engine is killed: what it was doing stops, and only what it wrote remains.
    pub fn killed(&self) -> Self {
        self.journal.die();
        Self { journal: self.journal.another(), ..self.clone() }
    }

    pub async fn entry(&self, key: &str) -> SessionEntry {
        self.sessions.get(&SessionKey::new(key)).await.ok().flatten().unwrap_or_default()
    }

    /// The conversation of a session.
    pub async fn transcript(&self, key: &str) -> Option<Transcript> {
        let entry = self.entry(key).await;
        let id = TranscriptId::of_file(path::name_of(entry.session_file()?)).ok()?;
        self.transcripts.load(&id).await.ok().flatten()
    }

    /// What was said in a session, a line a message.
    pub async fn said(&self, key: &str) -> Vec<String> {
        let Some(transcript) = self.transcript(key).await else { return Vec::new() };
        let messages: Vec<Message> = transcript.branch().iter().filter_map(|entry| entry.message()).collect();
        messages.iter().map(told).collect()
    }
}

/// A direct message of the owner.
pub fn direct(body: &str) -> Submission {
    Submission {
        message: InboundMessage {
            body: Some(body.to_owned()),
            from: Some("telegram:7".to_owned()),
            to: Some("telegram:7".to_owned()),
            provider: Some("telegram".to_owned()),
            surface: Some("telegram".to_owned()),
            originating_channel: Some("telegram".to_owned()),
            originating_to: Some("7".to_owned()),
            chat_type: Some("direct".to_owned()),
            sender_id: Some("7".to_owned()),
            sender_name: Some("Sam".to_owned()),
            command_authorized: true,
            ..InboundMessage::default()
        },
        ..Submission::default()
    }
}

/// A message in a group.
pub fn in_group(sender: &str, body: &str) -> Submission {
    let mut heard = direct(body);
    heard.message.from = Some("telegram:group:-5".to_owned());
    heard.message.to = Some("telegram:-5".to_owned());
    heard.message.originating_to = Some("-5".to_owned());
    heard.message.chat_type = Some("group".to_owned());
    heard.message.sender_id = Some(sender.to_owned());
    heard.message.sender_name = Some(sender.to_owned());
    heard.message.session_key = Some("agent:main:telegram:group:-5".to_owned());
    heard
}

/// Says something, and waits for what becomes of it.
pub async fn say(engine: &Engine, heard: Submission) -> TurnReport {
    accepted(engine, heard).await.done.await.expect("a report")
}

/// Says something that is accepted.
pub async fn accepted(engine: &Engine, heard: Submission) -> TurnHandle {
    match engine.submit(heard).await.expect("the journal is in order") {
        SubmitOutcome::Accepted(ticket) => ticket,
        SubmitOutcome::Repeated => panic!("it was taken for a repetition"),
        SubmitOutcome::Overheard => panic!("it was only overheard"),
        SubmitOutcome::NotServed => panic!("the group is not served"),
    }
}

/// The texts of a report.
pub fn texts(report: &TurnReport) -> Vec<String> {
    report.payloads.iter().map(text).collect()
}

fn text(payload: &ReplyPayload) -> String {
    payload.text.clone().unwrap_or_default()
}

/// Waits until `check` holds; a test that waits in vain fails.
pub async fn eventually(what: &str, check: impl Fn() -> bool) {
    for _ in 0..2000 {
        if check() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    panic!("never happened: {what}");
}
