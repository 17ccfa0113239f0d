//! A world in which the engine dies after any step that reaches the outside: a record in the journal, an
//! entry in a transcript, a change of a session, a message that is sent, a tool that is called.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use serde_json::json;
use tokio::sync::Notify;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::json::{Object, Value};
use yabby_domain::message::{Message, Role, text_block};
use yabby_domain::model::ModelRef;
use yabby_domain::provider_rules::{Recipient, violations};
use yabby_domain::sanitize::policy::ModelTarget;
use yabby_domain::seam::channel::{Action, Capabilities, Channel, ChannelError};
use yabby_domain::seam::journal::{Journal, Promise};
use yabby_domain::seam::model::{
    Answer, ModelError, ModelEvent, ModelInfo, ModelProvider, ModelRequest, Purpose, Stop,
};
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::seam::{
    Begin, Change, Compacted, Fork, Part, SessionStore, StoreError, TranscriptStore, TranscriptWriter,
    UndoneCompaction,
};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::path;
use yabby_domain::transcript::Transcript;
use yabby_domain::transcript::context::Context;
use yabby_domain::transcript::file_name::{ArchiveReason, TranscriptId};
use yabby_domain::transcript::line_compact::MaxLines;
use yabby_domain::transcript::tree::{BranchSummary, NewEntry};
use yabby_domain::turn::{Record, Step, TurnId};
use yabby_domain::usage::Usage;
use yabby_engine::hooks::Hooks;
use yabby_engine::{AgentHome, Engine, Parts, Submission, SubmitOutcome};
use yabby_testkit::loopback::Loopback;
use yabby_testkit::scripted_model::told;
use yabby_testkit::stage::Stage;

use crate::props::OfficeProbe;

/// More steps than any test takes.
pub const FOREVER: usize = 100_000;

/// The life of one engine: so many steps, and no more.
pub struct Life {
    left: AtomicUsize,
    /// The disk refuses the step after which so many are left.
    refused: Option<usize>,
    ended: Notify,
    pub last: Mutex<String>,
}

impl Life {
    pub fn of(steps: usize) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicUsize::new(steps),
            refused: None,
            ended: Notify::new(),
            last: Mutex::default(),
        })
    }

    /// One that goes on although a step of it fails: the one after so many others.
    pub fn with_fault_after(steps: usize) -> Arc<Self> {
        let long = FOREVER;
        Arc::new(Self {
            left: AtomicUsize::new(long),
            refused: Some(long - steps),
            ended: Notify::new(),
            last: Mutex::default(),
        })
    }

    /// Before a step that the disk may refuse.
    async fn begin_on_disk(&self) -> Result<(), StoreError> {
        self.begin().await;
        if self.refused == Some(self.left()) {
            self.left.fetch_sub(1, Ordering::SeqCst);
            let source = Arc::new(std::io::Error::from(std::io::ErrorKind::StorageFull));
            return Err(StoreError::Io { doing: "write", path: "it".to_owned(), source });
        }
        Ok(())
    }

    pub fn is_over(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    /// How many steps are left.
    pub fn left(&self) -> usize {
        self.left.load(Ordering::SeqCst)
    }

    /// Before a step: the dead take none.
    async fn begin(&self) {
        if self.is_over() {
            self.ended.notify_one();
            std::future::pending::<()>().await;
        }
    }

    /// After a step, which nobody may learn of any more.
    async fn end(&self, what: String) {
        *self.last.lock().unwrap() = what;
        self.left.fetch_sub(1, Ordering::SeqCst);
        self.begin().await;
    }
}

struct MortalJournal(Arc<dyn Journal>, Arc<Life>);

#[async_trait]
impl Journal for MortalJournal {
    async fn append(&self, records: Vec<Record>, promise: Promise) -> Result<(), StoreError> {
        self.1.begin_on_disk().await?;
        let what = records.iter().map(|record| step_name(&record.step)).collect::<Vec<_>>().join("+");
        let added = self.0.append(records, promise).await;
        self.1.end(what).await;
        added
    }

    async fn replay(&self) -> Result<Vec<Record>, StoreError> {
        self.0.replay().await
    }

    async fn records_of(&self, turn: &TurnId) -> Result<Vec<Record>, StoreError> {
        self.0.records_of(turn).await
    }
}

fn step_name(step: &Step) -> String {
    serde_json::to_value(step).unwrap()["step"].as_str().unwrap_or_default().to_owned()
}

struct MortalSessions(Arc<dyn SessionStore>, Arc<Life>);

#[async_trait]
impl SessionStore for MortalSessions {
    async fn newest(
        &self,
        choice: yabby_domain::seam::Choice,
    ) -> Result<yabby_domain::seam::Newest, StoreError> {
        Ok(yabby_domain::seam::Newest::of(self.list().await?, choice))
    }

    async fn select(
        &self,
        choice: yabby_domain::seam::Choice,
    ) -> Result<yabby_domain::seam::Selection, StoreError> {
        Ok(self.newest(choice).await?.into())
    }

    async fn get(&self, key: &SessionKey) -> Result<Option<SessionEntry>, StoreError> {
        self.0.get(key).await
    }

    async fn list(&self) -> Result<Vec<(SessionKey, SessionEntry)>, StoreError> {
        self.0.list().await
    }

    async fn update(&self, key: &SessionKey, change: Change) -> Result<Option<SessionEntry>, StoreError> {
        self.1.begin_on_disk().await?;
        let updated = self.0.update(key, change).await;
        self.1.end("session".to_owned()).await;
        updated
    }

    async fn note(&self, key: &SessionKey, change: Change) -> Result<Option<SessionEntry>, StoreError> {
        self.update(key, change).await
    }
}

struct MortalTranscripts(Arc<dyn TranscriptStore>, Arc<Life>);

#[async_trait]
impl TranscriptStore for MortalTranscripts {
    async fn load(&self, id: &TranscriptId) -> Result<Option<Transcript>, StoreError> {
        self.0.load(id).await
    }

    async fn context(&self, id: &TranscriptId) -> Result<Option<Context>, StoreError> {
        self.0.context(id).await
    }

    async fn open(&self, id: &TranscriptId, begin: Begin) -> Result<Box<dyn TranscriptWriter>, StoreError> {
        Ok(Box::new(MortalWriter(self.0.open(id, begin).await?, self.1.clone())))
    }

    async fn peek(&self, id: &TranscriptId, part: Part) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.peek(id, part).await
    }

    async fn fork(&self, id: &TranscriptId, fork: Fork) -> Result<TranscriptId, StoreError> {
        self.1.begin_on_disk().await?;
        let forked = self.0.fork(id, fork).await;
        self.1.end("fork".to_owned()).await;
        forked
    }

    async fn compact(&self, id: &TranscriptId, keep: MaxLines) -> Result<Compacted, StoreError> {
        self.0.compact(id, keep).await
    }

    async fn undo_compaction(&self, id: &TranscriptId) -> Result<UndoneCompaction, StoreError> {
        self.0.undo_compaction(id).await
    }

    async fn archive(&self, id: &TranscriptId, reason: ArchiveReason) -> Result<Option<String>, StoreError> {
        self.0.archive(id, reason).await
    }

    async fn list(&self) -> Result<Vec<TranscriptId>, StoreError> {
        self.0.list().await
    }
}

struct MortalWriter(Box<dyn TranscriptWriter>, Arc<Life>);

#[async_trait]
impl TranscriptWriter for MortalWriter {
    fn transcript(&self) -> &Transcript {
        self.0.transcript()
    }

    async fn append(&mut self, entries: Vec<NewEntry>) -> Result<Vec<String>, StoreError> {
        self.1.begin_on_disk().await?;
        let added = self.0.append(entries).await;
        self.1.end("transcript".to_owned()).await;
        added
    }

    async fn move_leaf(&mut self, id: Option<&str>) -> Result<(), StoreError> {
        self.0.move_leaf(id).await
    }

    async fn branch(&mut self, id: Option<&str>, left: BranchSummary) -> Result<String, StoreError> {
        self.0.branch(id, left).await
    }
}

struct MortalChannel(Loopback, Arc<Life>);

#[async_trait]
impl Channel for MortalChannel {
    fn id(&self) -> &str {
        self.0.id()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn perform(&self, action: Action) -> Result<Option<String>, ChannelError> {
        self.1.begin().await;
        let done = self.0.perform(action).await;
        self.1.end("sent".to_owned()).await;
        done
    }
}

/// What tools did, by what they were asked to do.
pub type Deeds = Arc<Mutex<HashMap<String, usize>>>;

struct MortalTool {
    name: &'static str,
    effect: Effect,
    deeds: Deeds,
    life: Arc<Life>,
}

#[async_trait]
impl Tool for MortalTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.to_owned(),
            description: self.name.to_owned(),
            parameters: json!({"type": "object"}),
        }
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    async fn call(&self, arguments: &Object, _: &ToolContext) -> ToolOutput {
        self.life.begin().await;
        let word = arguments.get("word").and_then(Value::as_str).unwrap_or_default();
        *self.deeds.lock().unwrap().entry(format!("{} {word}", self.name)).or_default() += 1;
        self.life.end(format!("tool {}", self.name)).await;
        ToolOutput::text("done")
    }
}

/// A model that answers by what it is asked alone, so that it does not matter when it is asked.
///
/// A question with `tool` in it is answered with two calls first, one with `long` in three paragraphs.
struct Rules {
    window: u64,
    wrong: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl ModelProvider for Rules {
    fn id(&self) -> &str {
        "test"
    }

    fn describe(&self, _: &str) -> Option<ModelInfo> {
        Some(ModelInfo {
            api: "anthropic-messages".to_owned(),
            context_window: self.window,
            max_output: 1000,
            reasoning: false,
            images: false,
            prices: None,
        })
    }

    fn models(&self) -> Vec<String> {
        vec!["model".to_owned()]
    }

    async fn stream(
        &self,
        request: &ModelRequest,
        heard: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> Result<Answer, ModelError> {
        // Time passes only when nobody has anything else to do: meanwhile, other messages arrive.
        tokio::time::sleep(Duration::from_millis(10)).await;
        let request = &request.unsettled();
        let recipient = Recipient::of(ModelTarget {
            api: Some("anthropic-messages"),
            provider: Some("test"),
            model: Some("model"),
        });
        let broken = violations(&request.messages, &recipient);
        if !broken.is_empty() {
            let list: Vec<String> = request.messages.iter().map(told).collect();
            self.wrong.lock().unwrap().push(format!("{broken:?} in {list:#?}"));
        }
        let at = request.messages.iter().rposition(|message| message.role() == Role::User).unwrap_or(0);
        let question = told(&request.messages[at]).trim_start_matches("user: ").to_owned();
        let called = request.messages[at..].iter().any(|message| message.role() == Role::ToolResult);
        let calls = |names: &[&str], word: &str| {
            let call = |(number, name): (usize, &&str)| json!({"type": "toolCall", "id": format!("toolu_{}_{number}", request.messages.len()), "name": name, "arguments": {"word": word}});
            names.iter().enumerate().map(call).collect::<Vec<Value>>()
        };
        if question.starts_with("spawn") && !called {
            let arguments = json!({"task": "use a tool", "label": "digging", "cleanup": "delete"});
            let id = format!("toolu_{}", request.messages.len());
            let call =
                json!({"type": "toolCall", "id": id, "name": "sessions_spawn", "arguments": arguments});
            return Ok(Answer { blocks: vec![call], stop: Stop::ToolUse, ..Answer::default() });
        }
        let wants_tools = question.contains("tool") || request.purpose == Purpose::Flush;
        let (blocks, stop) = if request.purpose == Purpose::Summary {
            (vec![text_block("a summary")], Stop::Done)
        } else if wants_tools && !called {
            // A flush is told apart by what it comes after.
            let before = request.messages[..at].iter().rfind(|message| message.role() == Role::Assistant);
            let word = match request.purpose {
                Purpose::Flush => format!("flush after {}", before.map(told).unwrap_or_default()),
                Purpose::Turn | Purpose::Summary => question,
            };
            (calls(&["write", "read"], &word), Stop::ToolUse)
        } else if request.purpose == Purpose::Flush {
            (vec![text_block("NO_REPLY")], Stop::Done)
        } else if question.contains("long") {
            let line = question.lines().next().unwrap_or_default();
            let text = format!("re: {question}\n\n{line} {}\n\n{line} {}", "b".repeat(40), "c".repeat(40));
            for piece in text.as_bytes().chunks(10) {
                heard(ModelEvent::Text(String::from_utf8_lossy(piece).into_owned()));
                tokio::task::yield_now().await;
            }
            (vec![text_block(&text)], Stop::Done)
        } else {
            let text = format!("re: {question}");
            heard(ModelEvent::Text(text.clone()));
            (vec![text_block(&text)], Stop::Done)
        };
        let input = request.messages.iter().map(yabby_domain::compaction::tokens::estimate).sum::<u64>();
        #[expect(clippy::cast_precision_loss, reason = "tests are short")]
        let usage = Usage { input: Some(input as f64 + 50.0), output: Some(10.0), ..Usage::default() };
        Ok(Answer { blocks, stop, usage, cli_session_id: None })
    }
}

/// What outlives every engine.
pub struct World {
    pub stage: Stage,
    pub window: u64,
    /// How long nothing is heard before each message, in milliseconds; not at all if this is too short.
    pub pauses: Vec<u64>,
    pub deeds: Deeds,
    /// Requests that a provider would refuse.
    pub wrong: Arc<Mutex<Vec<String>>>,
}

impl World {
    pub fn new(config: Value, capabilities: Capabilities, window: u64) -> Self {
        let mut stage = Stage::new(config);
        stage.channel = Loopback::new("telegram", capabilities);
        Self { stage, window, pauses: Vec::new(), deeds: Deeds::default(), wrong: Arc::default() }
    }

    fn engine(&self, life: &Arc<Life>) -> Engine {
        let stage = &self.stage;
        let (sessions, transcripts) = (stage.sessions.clone(), stage.transcripts.clone());
        let tool = |name, effect| MortalTool { name, effect, deeds: self.deeds.clone(), life: life.clone() };
        let tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(tool("write", Effect::Lasting)),
            Arc::new(tool("read", Effect::None)),
            Arc::new(OfficeProbe::new("sessions_spawn")),
        ];
        let mortal = life.clone();
        let homes = move |_: &Config, agent: &AgentId| {
            Ok(AgentHome {
                memory: None,
                sessions: Arc::new(MortalSessions(Arc::new(sessions.clone()), mortal.clone())),
                transcripts: Arc::new(MortalTranscripts(Arc::new(transcripts.clone()), mortal.clone())),
                state: "/state".to_owned(),
                conversations: path::sessions_folder("/state", agent),
                workspace: PathBuf::from("/workspace"),
                tools: tools.clone().into(),
                shelf: Arc::new(yabby_testkit::memory_shelf::MemoryShelf::default()),
                sources: Vec::new(),
            })
        };
        Engine::new(Parts {
            config: stage.config.clone(),
            clock: stage.clock.clone(),
            zone: TimeZone::UTC,
            version: "test".to_owned(),
            homes: Box::new(homes),
            journal: Arc::new(MortalJournal(Arc::new(stage.journal.clone()), life.clone())),
            ledger: Arc::new(stage.calls.clone()),
            models: vec![Arc::new(Rules { window: self.window, wrong: self.wrong.clone() })],
            default_model: ModelRef::new("test", "model"),
            channels: vec![Arc::new(MortalChannel(stage.channel.clone(), life.clone()))],
            hooks: Hooks::default(),
            secrets: Arc::default(),
        })
    }

    /// Lives once: takes up what is left, hears messages that nobody acknowledged yet, and goes on until
    /// everything is done or the life is over. Whether it came to an end by itself.
    pub fn live(&mut self, life: &Arc<Life>, messages: &[Submission], acknowledged: &mut [bool]) -> bool {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let done = runtime.block_on(async {
            let engine = self.engine(life);
            let living = async {
                let mut tickets = engine.recover().await.unwrap();
                let pauses = self.pauses.iter().copied().chain(std::iter::repeat(0));
                for ((message, is_known), pause) in messages.iter().zip(acknowledged.iter_mut()).zip(pauses) {
                    if pause > 0 {
                        tokio::time::sleep(Duration::from_millis(pause)).await;
                    }
                    // A platform may deliver what it delivered before.
                    match engine.submit(message.clone()).await {
                        Ok(SubmitOutcome::Accepted(ticket)) => {
                            assert!(!*is_known, "heard twice: {message:?}");
                            tickets.push(ticket);
                        }
                        Ok(SubmitOutcome::Repeated) => {}
                        Ok(SubmitOutcome::Overheard | SubmitOutcome::NotServed) => panic!("not accepted"),
                        // It is delivered again, one day.
                        Err(_) => continue,
                    }
                    *is_known = true;
                }
                for ticket in tickets {
                    ticket.done.await.expect("a report for every ticket");
                }
                assert!(engine.idle(Duration::from_secs(60)).await, "something never ends");
            };
            tokio::select! {
                () = living => true,
                () = life.ended.notified() => false,
            }
        });
        // The dead let go of everything.
        drop(runtime);
        self.stage = self.stage.killed();
        done
    }

    /// Everything that was ever said, in any session and on any branch.
    pub fn ever_said(&self) -> Vec<Message> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut all = Vec::new();
            for id in self.stage.transcripts.list().await.unwrap() {
                let transcript = self.stage.transcripts.load(&id).await.unwrap().unwrap();
                all.extend(transcript.entries().iter().filter_map(|entry| entry.message()));
            }
            all
        })
    }

    /// The conversation of a session.
    pub fn said(&self, key: &str) -> Vec<Message> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let transcript = runtime.block_on(self.stage.transcript(key));
        let branch = transcript.as_ref().map(|transcript| transcript.branch()).unwrap_or_default();
        branch.iter().filter_map(|entry| entry.message()).collect()
    }
}
