//! A model that says what it was told to say, and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::json;
use tokio::sync::Semaphore;
use yabby_domain::compaction::tokens::estimate_all;
use yabby_domain::json::Value;
use yabby_domain::message::{Block, Message, Role, text_block};
use yabby_domain::reply::usage_line::Prices;
use yabby_domain::seam::model::{
    Answer, ModelError, ModelErrorKind, ModelEvent, ModelInfo, ModelProvider, ModelRequest, Purpose, Stop,
};
use yabby_domain::usage::Usage;

use crate::unpoisoned;

/// One answer of the script.
#[derive(Clone, Debug)]
pub enum Line {
    Say(String),
    /// Calls of tools: name and arguments.
    Call(Vec<(String, Value)>),
    /// Blocks as a provider gives them.
    Blocks(Vec<Value>, Stop),
    Fail(ModelErrorKind, String),
    /// Says the first part, waits until it is let go on, and says the second.
    Pause(String, Arc<Semaphore>, String),
}

impl Line {
    pub fn say(text: &str) -> Self {
        Self::Say(text.to_owned())
    }

    pub fn call(tool: &str, arguments: Value) -> Self {
        Self::Call(vec![(tool.to_owned(), arguments)])
    }

    pub fn overflow() -> Self {
        Self::Fail(ModelErrorKind::ContextOverflow, "prompt is too long: 9 tokens > 8 maximum".to_owned())
    }
}

/// Copies are the same model.
#[derive(Clone)]
pub struct ScriptedModel(Arc<Inner>);

struct Inner {
    provider: String,
    models: Vec<String>,
    info: ModelInfo,
    script: Mutex<VecDeque<Line>>,
    /// What it says to anything but a turn.
    aside: Mutex<VecDeque<Line>>,
    asked: Mutex<Vec<ModelRequest>>,
    /// Requests of more tokens overflow.
    most: Mutex<Option<u64>>,
}

impl ScriptedModel {
    /// A model `test/model` that repeats the question when its script is at an end, has nothing to
    /// remember, and writes short summaries.
    pub fn new(context_window: u64) -> Self {
        Self::named("test", "openai-completions", context_window)
    }

    /// Models `model` and `other` of another provider.
    pub fn named(provider: &str, api: &str, context_window: u64) -> Self {
        Self::describing(provider, &["model", "other"], Self::info(api, context_window))
    }

    /// What is usual of a model.
    pub fn info(api: &str, context_window: u64) -> ModelInfo {
        ModelInfo {
            api: api.to_owned(),
            context_window,
            max_output: 4096,
            reasoning: false,
            images: false,
            prices: Some(Prices { input: 1.0, output: 2.0, cache_read: 0.0, cache_write: 0.0 }),
        }
    }

    pub fn describing(provider: &str, models: &[&str], info: ModelInfo) -> Self {
        Self(Arc::new(Inner {
            provider: provider.to_owned(),
            models: models.iter().map(|model| (*model).to_owned()).collect(),
            info,
            script: Mutex::default(),
            aside: Mutex::default(),
            asked: Mutex::default(),
            most: Mutex::default(),
        }))
    }

    pub fn will(&self, lines: impl IntoIterator<Item = Line>) {
        unpoisoned(&self.0.script).extend(lines);
    }

    /// The same for memory flushes and summaries.
    pub fn will_aside(&self, lines: impl IntoIterator<Item = Line>) {
        unpoisoned(&self.0.aside).extend(lines);
    }

    /// From now on it refuses requests of more tokens than this.
    pub fn refuse_over(&self, tokens: u64) {
        *unpoisoned(&self.0.most) = Some(tokens);
    }

    /// Everything that it was asked, in order.
    pub fn asked(&self) -> Vec<ModelRequest> {
        unpoisoned(&self.0.asked).clone()
    }

    /// The texts of the last request, each with its role in front.
    pub fn last_heard(&self) -> Vec<String> {
        let asked = unpoisoned(&self.0.asked);
        asked.last().map(|request| request.messages.iter().map(told).collect()).unwrap_or_default()
    }
}

impl ScriptedModel {
    fn next(&self, request: &ModelRequest) -> Line {
        let (script, usual) = match request.purpose {
            Purpose::Turn => (&self.0.script, format!("echo: {}", question(request))),
            Purpose::Flush => (&self.0.aside, "NO_REPLY".to_owned()),
            Purpose::Summary => (&self.0.aside, "a summary".to_owned()),
        };
        unpoisoned(script).pop_front().unwrap_or(Line::Say(usual))
    }
}

/// A message as one line: its role, and what it says.
pub fn told(message: &Message) -> String {
    let role = message.text_field("role").unwrap_or("?");
    let part = |block: &Value| match Block::of(block) {
        Block::Text(text) => text.to_owned(),
        Block::Thinking { text, .. } => format!("({text})"),
        Block::ToolCall(call) => format!("<{}>", call.name.unwrap_or("?")),
        Block::Image | Block::Other => "*".to_owned(),
    };
    let said: Vec<String> = message.to_blocks().iter().map(part).collect();
    format!("{role}: {}", said.join(" "))
}

#[async_trait]
impl ModelProvider for ScriptedModel {
    fn id(&self) -> &str {
        &self.0.provider
    }

    fn describe(&self, model: &str) -> Option<ModelInfo> {
        self.models().contains(&model.to_owned()).then(|| self.0.info.clone())
    }

    fn models(&self) -> Vec<String> {
        self.0.models.clone()
    }

    async fn stream(
        &self,
        request: &ModelRequest,
        heard: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> Result<Answer, ModelError> {
        let request = &request.unsettled();
        unpoisoned(&self.0.asked).push(request.clone());
        let most = *unpoisoned(&self.0.most);
        let line = match most {
            Some(most) if estimate_all(&request.messages) > most => Line::overflow(),
            _ => self.next(request),
        };
        let (blocks, stop) = match line {
            Line::Say(text) => {
                heard(ModelEvent::Text(text.clone()));
                (vec![text_block(&text)], Stop::Done)
            }
            Line::Pause(first, gate, second) => {
                heard(ModelEvent::Text(first.clone()));
                // Whoever lets it go on does so by adding a permit.
                if let Ok(permit) = gate.acquire().await {
                    permit.forget();
                }
                heard(ModelEvent::Text(second.clone()));
                (vec![text_block(&format!("{first}{second}"))], Stop::Done)
            }
            Line::Call(calls) => {
                for (name, arguments) in &calls {
                    heard(ModelEvent::ToolCall { name: name.clone() });
                    heard(ModelEvent::ToolArguments { bytes: arguments.to_string().len() });
                }
                let number = unpoisoned(&self.0.asked).len();
                let call = |(at, (name, arguments)): (usize, (String, Value))| json!({"type": "toolCall", "id": format!("call_{number}_{at}"), "name": name, "arguments": arguments});
                (calls.into_iter().enumerate().map(call).collect(), Stop::ToolUse)
            }
            Line::Blocks(blocks, stop) => (blocks, stop),
            Line::Fail(kind, message) => return Err(ModelError::new(kind, message)),
        };
        #[expect(clippy::cast_precision_loss, reason = "tests are short")]
        let input = (estimate_all(&request.messages) + request.system.len() as u64 / 4) as f64;
        let written: usize = blocks.iter().map(|block| block.to_string().len()).sum();
        #[expect(clippy::cast_precision_loss, reason = "tests are short")]
        let output = (written / 4) as f64;
        let usage = Usage { input: Some(input), output: Some(output), ..Usage::default() };
        Ok(Answer { blocks, stop, usage, cli_session_id: None })
    }
}

/// The last thing that the user said.
fn question(request: &ModelRequest) -> String {
    let asked = request.messages.iter().rfind(|message| message.role() == Role::User);
    asked.map(told).unwrap_or_default().trim_start_matches("user: ").to_owned()
}
