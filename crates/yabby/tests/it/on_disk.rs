//! An engine on the files of a home, with a memory, a model that is scripted and a clock that is set.
//!
//! What it writes, the program reads.

use std::path::Path;
use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::{Value, json};
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::model::ModelRef;
use yabby_domain::route::Peer;
use yabby_domain::seam::SessionStore;
use yabby_domain::seam::channel::Capabilities;
use yabby_domain::session::key::{PeerKind, SessionKey};
use yabby_engine::hooks::Hooks;
use yabby_engine::{AgentHome, Engine, Origin, Parts, Submission};
use yabby_memory::listening::Listening;
use yabby_memory::memory::{self, Memory, Places};
use yabby_store::files::ledger::UsageLedger;
use yabby_store::files::sessions::{self, SessionFile};
use yabby_store::files::transcripts::TranscriptFolder;
use yabby_store::files::turns::{self, Kind, TurnJournal};
use yabby_testkit::clock::FixedClock;
use yabby_testkit::loopback::Loopback;
use yabby_testkit::memory_shelf::MemoryShelf;
use yabby_testkit::scripted_model::ScriptedModel;
use yabby_testkit::stage::direct;

use crate::home::Home;

/// The person whom the examples of OpenClaudeCode are about.
pub const PERSON: &str = "5054873275";
pub const PERSONS: &str = "agent:main:telegram:dm:5054873275";

pub struct OnDisk {
    pub home: Home,
    pub clock: Arc<FixedClock>,
    pub model: ScriptedModel,
    pub memory: Memory,
    pub sessions: Arc<dyn SessionStore>,
    pub engine: Engine,
}

impl OnDisk {
    /// Every person has a session of their own; beyond that, as configured.
    pub fn new(config: &Value) -> Self {
        Self::at(Home::empty(), config, ScriptedModel::new(100_000))
    }

    pub fn at(home: Home, more: &Value, model: ScriptedModel) -> Self {
        let mut config = json!({"session": {"dmScope": "per-channel-peer"}});
        yabby_config::extras::merge(&mut config, more);
        let config = Arc::new(Config::new(config));
        let clock = Arc::new(FixedClock::at(jiff::Timestamp::now().as_millisecond()));
        let state = home.path().join(".openclaw");
        let sessions: Arc<dyn SessionStore> =
            Arc::new(SessionFile::open(home.store(), sessions::Settings::default()).unwrap());
        let memory = remembering(&home, &config, &sessions);
        let transcripts = Arc::new(Listening {
            store: Arc::new(TranscriptFolder::open(home.sessions())),
            memory: memory.clone(),
        });
        let (recollection, workspace) = (memory.clone(), state.join("workspace"));
        let (text, conversations) = (text_of(&state), text_of(&home.sessions()));
        let records = sessions.clone();
        let homes = move |_: &Config, _: &AgentId| {
            Ok(AgentHome {
                memory: Some(Arc::new(recollection.clone())),
                sessions: records.clone(),
                transcripts: transcripts.clone(),
                state: text.clone(),
                conversations: conversations.clone(),
                workspace: workspace.clone(),
                tools: yabby_engine::Tools::default(),
                shelf: Arc::new(MemoryShelf::default()),
                sources: Vec::new(),
            })
        };
        let journal = TurnJournal::open(state.join("turns"), Kind::Gateway, turns::Settings::default());
        let engine = Engine::new(Parts {
            config,
            clock: clock.clone(),
            zone: TimeZone::UTC,
            version: "test".to_owned(),
            homes: Box::new(homes),
            journal: Arc::new(journal.unwrap()),
            ledger: Arc::new(UsageLedger::open(state.join("usage")).unwrap()),
            models: vec![Arc::new(model.clone())],
            default_model: ModelRef::new("test", "model"),
            channels: vec![Arc::new(Loopback::new("telegram", Capabilities::default()))],
            hooks: Hooks::default(),
            secrets: Arc::default(),
        });
        Self { home, clock, model, memory, sessions, engine }
    }

    pub async fn record(&self, key: &str) -> Value {
        let record = self.sessions.get(&SessionKey::new(key)).await.unwrap().unwrap_or_default();
        Value::Object(record.as_object().clone())
    }

    pub async fn session_id(&self, key: &str) -> String {
        self.record(key).await["sessionId"].as_str().unwrap().to_owned()
    }

    /// The lines of a transcript.
    pub fn lines(&self, session_id: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.home.transcript(session_id)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn remembering(home: &Home, config: &Arc<Config>, sessions: &Arc<dyn SessionStore>) -> Memory {
    let state = home.path().join(".openclaw");
    Memory::open(memory::Parts {
        places: Places {
            agent: AgentId::default(),
            index: state.join("recall/main.sqlite"),
            transcripts: home.sessions(),
            workspace: state.join("workspace"),
            extra_paths: Vec::new(),
            has_notes: true,
            has_sessions: true,
        },
        config: config.clone(),
        sessions: sessions.clone(),
        secrets: Arc::default(),
        meaning: None,
        ranking: memory::Ranking::Own,
    })
    .unwrap()
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A direct message by Telegram, from the person with this number.
pub fn from(person: &str, body: &str) -> Submission {
    let mut heard = direct(body);
    heard.message.from = Some(format!("telegram:{person}"));
    heard.message.to = Some(format!("telegram:{person}"));
    heard.message.originating_to = Some(person.to_owned());
    heard.message.sender_id = Some(person.to_owned());
    heard.origin = Some(Origin {
        channel: "telegram".to_owned(),
        peer: Some(Peer { kind: PeerKind::parse("dm"), id: person.to_owned() }),
        ..Origin::default()
    });
    heard
}
