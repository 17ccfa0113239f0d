//! What lies outside: two messaging platforms and the effects of a tool, in files that a kill does not
//! undo, and a model that answers every message by its name.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::{Object, Value};
use yabby_domain::message::{Block, Message, Role, text_block};
use yabby_domain::seam::channel::{Action, Capabilities, Channel, ChannelError};
use yabby_domain::seam::model::{
    Answer, ModelError, ModelEvent, ModelInfo, ModelProvider, ModelRequest, Stop,
};
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::usage::Usage;

use crate::Result;

/// A file to which lines are added, each in one write.
pub struct Lines(Mutex<File>);

impl Lines {
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self(Mutex::new(OpenOptions::new().append(true).create(true).open(path)?)))
    }

    pub fn add(&self, line: &Value) {
        let line = format!("{}\n", yabby_domain::json::stringify(line));
        if let Ok(mut file) = self.0.lock() {
            file.write_all(line.as_bytes()).expect("the folder of a crash round can be written");
        }
    }
}

/// A platform that keeps what is sent to it.
pub struct Platform {
    id: &'static str,
    knows_deliveries: bool,
    sent: Lines,
    known: Mutex<std::collections::HashSet<String>>,
}

impl Platform {
    pub fn open(id: &'static str, knows_deliveries: bool, folder: &Path) -> Result<Self> {
        let path = folder.join(format!("{id}.sent"));
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        let deliveries = before.lines().filter_map(|line| yabby_domain::json::parse(line).ok());
        let known = deliveries.filter_map(|line| Some(line.get("delivery")?.as_str()?.to_owned())).collect();
        Ok(Self { id, knows_deliveries, sent: Lines::open(&path)?, known: Mutex::new(known) })
    }
}

#[async_trait]
impl Channel for Platform {
    fn id(&self) -> &str {
        self.id
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { knows_deliveries: self.knows_deliveries, likes_blocks: false }
    }

    async fn perform(&self, action: Action) -> std::result::Result<Option<String>, ChannelError> {
        let Action::Send(outgoing) = action else { return Ok(None) };
        tokio::time::sleep(Duration::from_micros(300)).await;
        let is_new = self.known.lock().is_ok_and(|mut known| known.insert(outgoing.delivery.clone()));
        if is_new || !self.knows_deliveries {
            let text = outgoing.payload.text.unwrap_or_default();
            self.sent.add(&json!({"delivery": outgoing.delivery, "text": text}));
        }
        tokio::time::sleep(Duration::from_micros(300)).await;
        Ok(None)
    }
}

/// Leaves something behind: a line with the name of the message it was called for.
pub struct Mark(pub Lines);

#[async_trait]
impl Tool for Mark {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "mark".to_owned(),
            description: "Leaves a mark that stays.".to_owned(),
            parameters: json!({"type": "object", "properties": {"name": {"type": "string"}}}),
        }
    }

    fn effect(&self) -> Effect {
        Effect::Lasting
    }

    async fn call(&self, arguments: &Object, _: &ToolContext) -> ToolOutput {
        tokio::time::sleep(Duration::from_micros(500)).await;
        self.0.add(&json!({"name": arguments.get("name")}));
        tokio::time::sleep(Duration::from_micros(500)).await;
        ToolOutput::text("marked")
    }
}

/// Answers each message by its name; one whose name ends in `t` has to be marked first.
pub struct Namer {
    /// How long it thinks.
    pub pause: Duration,
}

#[async_trait]
impl ModelProvider for Namer {
    fn id(&self) -> &str {
        "namer"
    }

    fn describe(&self, _: &str) -> Option<ModelInfo> {
        Some(ModelInfo {
            api: "openai-completions".to_owned(),
            context_window: 200_000,
            max_output: 4096,
            reasoning: false,
            images: false,
            prices: None,
        })
    }

    fn models(&self) -> Vec<String> {
        vec!["names".to_owned()]
    }

    async fn stream(
        &self,
        request: &ModelRequest,
        heard: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> std::result::Result<Answer, ModelError> {
        let request = &request.unsettled();
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        let asked = unanswered(&request.messages);
        let is_marked = |name: &String| {
            request.messages.iter().any(|message| message.blocks().iter().any(|block| calls_for(block, name)))
        };
        let unmarked: Vec<&String> =
            asked.iter().filter(|name| name.ends_with('t') && !is_marked(name)).collect();
        let usage = Usage { input: Some(10.0), output: Some(5.0), ..Usage::default() };
        if !unmarked.is_empty() {
            let call = |name: &&String| json!({"type": "toolCall", "id": format!("call_{name}"), "name": "mark", "arguments": {"name": name}});
            let blocks = unmarked.iter().map(call).collect();
            return Ok(Answer { blocks, stop: Stop::ToolUse, usage, cli_session_id: None });
        }
        let text = asked.iter().map(|name| format!("done {name};")).collect::<Vec<_>>().join(" ");
        let text = if text.is_empty() { "done nothing;".to_owned() } else { text };
        heard(ModelEvent::Text(text.clone()));
        Ok(Answer { blocks: vec![text_block(&text)], stop: Stop::Done, usage, cli_session_id: None })
    }
}

/// The names in what was said since the last answer in words.
fn unanswered(messages: &[Message]) -> Vec<String> {
    let is_answer = |message: &Message| {
        message.role() == Role::Assistant
            && message
                .blocks()
                .iter()
                .any(|block| matches!(Block::of(block), Block::Text(text) if text.starts_with("done ")))
    };
    let since = messages.iter().rposition(is_answer).map_or(0, |at| at + 1);
    let users = messages[since..].iter().filter(|message| message.role() == Role::User);
    users.flat_map(names_in).collect()
}

/// Names look like `<m12-3t>`.
fn names_in(message: &Message) -> Vec<String> {
    let blocks = message.to_blocks();
    let texts = blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str));
    let name = |part: &str| part.split_once('>').map(|(name, _)| name.to_owned());
    texts.flat_map(|text| text.split('<').skip(1).filter_map(name).collect::<Vec<_>>()).collect()
}

fn calls_for(block: &Value, name: &str) -> bool {
    block.get("arguments").and_then(|arguments| arguments.get("name")?.as_str()) == Some(name)
}
