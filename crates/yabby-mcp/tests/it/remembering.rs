//! An agent that remembers: what its owner, a group and two people said, each in words of their own.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{CallToolRequestParams, CallToolResult, ReadResourceRequestParams};
use rmcp::service::{RunningService, ServiceError};
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::seam::SessionStore as _;
use yabby_domain::secrets::Secrets;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_mcp::serve::{MemoryServer, Open, Opened, ShownTo};
use yabby_memory::memory::{Memory, Parts, Places, Ranking};
use yabby_testkit::memory_store::MemorySessions;

pub const GROUP: &str = "agent:main:telegram:group:-100";
pub const ANNA: &str = "agent:main:telegram:dm:42";
pub const BEN: &str = "agent:main:telegram:dm:43";

pub struct Remembering {
    folder: TempDir,
    pub sessions: MemorySessions,
    pub config: Value,
    /// How often the memory was opened.
    pub opened: Arc<AtomicUsize>,
}

impl Remembering {
    pub async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let here =
            Self { folder, sessions: MemorySessions::default(), config: json!({}), opened: Arc::default() };
        here.note("MEMORY.md", "# Home\n- the alarm code is quartz 4711\n- the bins go out on Monday\n");
        here.note("memory/2026-02-03.md", "- quartz watch repaired\n");
        here.note("memory/größe & co.md", "- quartz sizes\n");
        here.note("other.md", "quartz, but no memory");
        here.record("agent:main:main", json!({"sessionId": "s-main", "updatedAt": 9, "label": "Mine"})).await;
        here.record(GROUP, json!({"sessionId": "s-group", "chatType": "group", "channel": "telegram"})).await;
        here.record(ANNA, json!({"sessionId": "s-anna", "channel": "telegram"})).await;
        here.record(BEN, json!({"sessionId": "s-ben", "channel": "discord"})).await;
        here.say(
            "s-main",
            &[("m1", "user", "My quartz ring is in the drawer"), ("m2", "assistant", "Noted.")],
        );
        here.say(
            "s-group",
            &[("g1", "user", "The granite party is on Friday"), ("g2", "assistant", "Fine.")],
        );
        here.say("s-anna", &[("a1", "user", "I collect basalt"), ("a2", "assistant", "Nice.")]);
        here.say("s-ben", &[("b1", "user", "I collect marble"), ("b2", "assistant", "Nice, too.")]);
        here
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn note(&self, name: &str, text: &str) {
        let file = self.path("workspace").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    pub async fn record(&self, key: &str, record: Value) {
        let entry = SessionEntry::new(record.as_object().unwrap().clone());
        self.sessions
            .update(&SessionKey::new(key), Box::new(move |known| *known = Some(entry)))
            .await
            .unwrap();
    }

    pub fn say(&self, id: &str, said: &[(&str, &str, &str)]) {
        let mut lines =
            vec![json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-02-03T12:00:00.000Z"})];
        let mut parent = Value::Null;
        for (at, (entry, role, text)) in said.iter().enumerate() {
            let time = format!("2026-02-03T12:00:{at:02}.000Z");
            lines.push(json!({
                "type": "message", "id": entry, "parentId": parent, "timestamp": time,
                "message": {"role": role, "content": [{"type": "text", "text": text}]},
            }));
            parent = (*entry).into();
        }
        fs::create_dir_all(self.path("sessions")).unwrap();
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(self.path("sessions").join(format!("{id}.jsonl")), lines).unwrap();
    }

    pub fn opening(&self) -> Open {
        let config = Arc::new(Config::new(self.config.clone()));
        let sessions = Arc::new(self.sessions.clone());
        let sources = self.config.get("sources").is_none();
        let places = Places {
            agent: AgentId::default(),
            index: self.path("recall/main.sqlite"),
            transcripts: self.path("sessions"),
            workspace: self.path("workspace"),
            extra_paths: vec![self.path("else").to_string_lossy().into_owned()],
            has_notes: true,
            has_sessions: sources,
        };
        let opened = self.opened.clone();
        Box::new(move || {
            opened.fetch_add(1, Ordering::Relaxed);
            let parts = Parts {
                places: places.clone(),
                config: config.clone(),
                sessions: sessions.clone(),
                secrets: Arc::new(Secrets::default()),
                meaning: None,
                ranking: Ranking::Own,
            };
            let memory = Memory::open(parts).map_err(|error| error.to_string())?;
            Ok(Opened { memory, sessions: sessions.clone(), config: config.clone(), upkeep: None })
        })
    }

    pub async fn owner(&self) -> Asking {
        Asking::new(MemoryServer::new(self.opening(), ShownTo::Owner)).await
    }

    pub async fn seen_from(&self, key: &str) -> Asking {
        let shown_to = ShownTo::Session(SessionKey::new(key));
        Asking::new(MemoryServer::new(self.opening(), shown_to)).await
    }
}

/// A program that uses the server, with the client of the official crate.
pub struct Asking(pub RunningService<RoleClient, ()>);

impl Asking {
    pub async fn new(server: MemoryServer) -> Self {
        let (theirs, ours) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move { server.serve(theirs).await.unwrap().waiting().await });
        Self(().serve(ours).await.unwrap())
    }

    pub async fn raw(&self, tool: &str, arguments: &Value) -> Result<CallToolResult, ServiceError> {
        let call = CallToolRequestParams::new(tool.to_owned());
        self.0.call_tool(call.with_arguments(arguments.as_object().unwrap().clone())).await
    }

    /// What a call gives; both forms of it say the same.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = self.raw(tool, &arguments).await.unwrap();
        assert_ne!(result.is_error, Some(true), "{tool} {arguments}: {result:?}");
        let value = result.structured_content.clone().unwrap();
        assert_eq!(serde_json::from_str::<Value>(&words(&result)).unwrap(), value);
        value
    }

    /// Why a call was refused.
    pub async fn refusal(&self, tool: &str, arguments: Value) -> String {
        let result = self.raw(tool, &arguments).await.unwrap();
        assert_eq!(result.is_error, Some(true), "{tool} {arguments}: {result:?}");
        words(&result)
    }

    pub async fn read(&self, uri: &str) -> Result<Value, ServiceError> {
        let read = self.0.read_resource(ReadResourceRequestParams::new(uri)).await?;
        Ok(serde_json::to_value(read).unwrap()["contents"][0].clone())
    }

    pub async fn resources(&self) -> Vec<String> {
        self.0.list_all_resources().await.unwrap().into_iter().map(|resource| resource.uri).collect()
    }
}

pub fn words(result: &CallToolResult) -> String {
    let blocks = serde_json::to_value(&result.content).unwrap();
    blocks.as_array().unwrap().iter().filter_map(|block| block["text"].as_str()).collect()
}

/// One field of every item of a list.
pub fn each<'v>(list: &'v Value, field: &str) -> Vec<&'v str> {
    list.as_array().unwrap().iter().map(|item| item[field].as_str().unwrap_or("-")).collect()
}
