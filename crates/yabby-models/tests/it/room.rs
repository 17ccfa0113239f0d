//! A small loop: request, tool calls, results, request, until there is an answer.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use yabby_domain::message::Message;
use yabby_domain::model::ModelRef;
use yabby_domain::seam::model::{Answer, ModelError, ModelEvent, ModelProvider as _, ModelRequest, Stop};
use yabby_domain::seam::tool::{Tool, ToolOutput};
use yabby_memory::memory::Places;
use yabby_models::offline::Offline;
use yabby_testkit::clock::FixedClock;
use yabby_testkit::desk::owners_call;
use yabby_testkit::memory_approvals::MemoryApprovals;
use yabby_testkit::memory_store::{MemorySessions, MemoryTranscripts};
use yabby_testkit::note_office::NoteOffice;
use yabby_testkit::remembering;
use yabby_testkit::stage::NOON;
use yabby_tools::{Conversations, Leash};

pub struct Room {
    folder: TempDir,
    tools: Vec<Arc<dyn Tool>>,
    pub offline: Offline,
    pub request: ModelRequest,
    /// The calls of the last turn, by round.
    pub rounds: Vec<Vec<(String, Value)>>,
}

impl Room {
    pub fn new() -> Self {
        let transcripts = MemoryTranscripts::new(Arc::new(FixedClock::at(NOON)));
        let conversations = Conversations {
            sessions: Arc::new(MemorySessions::default()),
            transcripts: Arc::new(transcripts),
        };
        let folder = tempfile::tempdir().unwrap();
        let leash = Leash {
            keeper: folder.path().join("nobody"),
            state: folder.path().join("state"),
            home: folder.path().to_owned(),
            environment: Vec::new(),
            approvals: Arc::new(MemoryApprovals::default()),
            readable: Vec::new(),
            skill_variables: Arc::new(|_, _| Vec::new()),
        };
        // The folder itself is where the agent works.
        let places = Places {
            workspace: folder.path().to_owned(),
            ..remembering::places(&folder.path().join("state"))
        };
        let memory = remembering::memory(places, &MemorySessions::default(), json!({}), None).unwrap();
        let tools = yabby_tools::all(conversations, leash, Some(&memory));
        Self {
            folder,
            request: request(tools.iter().map(|tool| tool.spec()).collect()),
            tools,
            offline: Offline::default(),
            rounds: Vec::new(),
        }
    }

    pub fn put(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap_or_default()
    }

    /// Takes the tool away.
    pub fn without(&mut self, tool: &str) {
        self.request.tools.retain(|offered| offered.name != tool);
    }

    pub fn says(&mut self, text: &str) {
        self.push(json!({"role": "user", "content": text, "timestamp": NOON}));
    }

    pub fn push(&mut self, message: Value) {
        self.request.messages.push(Message::from_value(message).unwrap());
    }

    /// One answer, held against what was heard of it.
    pub async fn ask(&self) -> Result<Answer, ModelError> {
        let mut heard = Vec::new();
        let answer = self.offline.stream(&self.request, &mut |event| heard.push(event)).await?;
        let mut said = String::new();
        let mut called = Vec::new();
        for event in heard {
            match event {
                ModelEvent::Text(piece) => said.push_str(&piece),
                ModelEvent::ToolCall { name } => called.push(name),
                ModelEvent::ToolArguments { .. } => {}
                ModelEvent::Thinking(_) => panic!("it does not think"),
            }
        }
        assert_eq!(said, text_of(&answer));
        assert_eq!(called, calls(&answer).into_iter().map(|(_, name, _)| name).collect::<Vec<_>>());
        assert_eq!(answer.stop == Stop::ToolUse, !called.is_empty());
        Ok(answer)
    }

    /// The user says something; what is answered in the end.
    pub async fn turn(&mut self, text: &str) -> String {
        self.says(text);
        self.answer().await
    }

    pub async fn answer(&mut self) -> String {
        self.rounds.clear();
        loop {
            let answer = self.ask().await.unwrap();
            self.push(
                json!({"role": "assistant", "content": answer.blocks, "stopReason": answer.stop.as_str()}),
            );
            let calls = calls(&answer);
            if calls.is_empty() {
                return text_of(&answer);
            }
            assert!(self.rounds.len() < 4, "{:?}", self.rounds);
            self.rounds
                .push(calls.iter().map(|(_, name, arguments)| (name.clone(), arguments.clone())).collect());
            for (id, name, arguments) in calls {
                let output = self.run(&name, &arguments).await;
                self.push(json!({
                    "role": "toolResult", "toolCallId": id, "toolName": name, "content": output.blocks,
                    "isError": output.is_error, "timestamp": NOON,
                }));
            }
        }
    }

    /// The names of the tools that were called, by round.
    pub fn called(&self) -> Vec<Vec<&str>> {
        self.rounds.iter().map(|round| round.iter().map(|(name, _)| name.as_str()).collect()).collect()
    }

    async fn run(&self, name: &str, arguments: &Value) -> ToolOutput {
        let tool = self.tools.iter().find(|tool| tool.spec().name == name).unwrap();
        let office = NoteOffice::default();
        let context = owners_call(Arc::default(), &office, self.folder.path().to_owned());
        tool.call(arguments.as_object().unwrap(), &context).await
    }
}

fn request(tools: Vec<yabby_domain::seam::tool::ToolSpec>) -> ModelRequest {
    ModelRequest {
        system: "You are a personal assistant.".to_owned(),
        tools: tools.into_iter().map(Arc::new).collect(),
        session_id: "s".to_owned(),
        ..ModelRequest::new(ModelRef::new("offline", "rules"), Vec::new())
    }
}

pub fn text_of(answer: &Answer) -> String {
    answer.blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}

/// Id, tool and arguments of each call.
pub fn calls(answer: &Answer) -> Vec<(String, String, Value)> {
    let calls = answer.blocks.iter().filter(|block| block["type"] == "toolCall");
    calls
        .map(|call| {
            let field = |name: &str| call[name].as_str().unwrap().to_owned();
            (field("id"), field("name"), call["arguments"].clone())
        })
        .collect()
}
