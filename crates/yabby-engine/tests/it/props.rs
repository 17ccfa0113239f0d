//! What tests put on the stage: tools that can be held up, hooks that note what they are told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use tokio::sync::Semaphore;
use yabby_domain::json::{Object, Value};
use yabby_domain::seam::office::{Letter, Question, Task};
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::session::key::SessionKey;
use yabby_domain::turn::{Outcome, progress};
use yabby_engine::TurnHandle;
use yabby_engine::hooks::{Hook, HookAnswer, HookEvent, HookPoint};
use yabby_testkit::scripted_model::Line;
use yabby_testkit::stage::Stage;

pub const MAIN: &str = "agent:main:main";
pub const GROUP: &str = "agent:main:telegram:group:-5";

/// Something that waits until it is let go on.
pub fn gate() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(0))
}

/// An answer that stands still after its first words.
pub fn paused(first: &str, gate: &Arc<Semaphore>, second: &str) -> Line {
    Line::Pause(first.to_owned(), gate.clone(), second.to_owned())
}

/// A tool that counts how often it is called, and with what.
pub struct Probe {
    name: String,
    effect: Effect,
    gate: Option<Arc<Semaphore>>,
    pub calls: Arc<AtomicUsize>,
    pub given: Mutex<Vec<Object>>,
    answer: Box<dyn Fn(&Object) -> ToolOutput + Send + Sync>,
}

impl Probe {
    pub fn new(name: &str, effect: Effect) -> Self {
        Self {
            name: name.to_owned(),
            effect,
            gate: None,
            calls: Arc::default(),
            given: Mutex::default(),
            answer: Box::new(|_| ToolOutput::text("done")),
        }
    }

    /// It is called, and does not end before it is let.
    pub fn held_by(self, gate: &Arc<Semaphore>) -> Self {
        Self { gate: Some(gate.clone()), ..self }
    }

    pub fn answering(self, answer: impl Fn(&Object) -> ToolOutput + Send + Sync + 'static) -> Self {
        Self { answer: Box::new(answer), ..self }
    }

    pub fn count(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Tool for Probe {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.clone(),
            description: format!("The tool {}.\nMore about it.", self.name),
            parameters: json!({"type": "object", "properties": {"word": {"type": "string"}}}),
        }
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    async fn call(&self, arguments: &Object, _: &ToolContext) -> ToolOutput {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.given.lock().unwrap().push(arguments.clone());
        if let Some(gate) = &self.gate {
            gate.acquire().await.unwrap().forget();
        }
        (self.answer)(arguments)
    }
}

/// A tool that has the office do what its arguments say, and tells what came of it.
pub struct OfficeProbe(&'static str);

impl OfficeProbe {
    pub fn new(name: &'static str) -> Self {
        Self(name)
    }
}

#[async_trait]
impl Tool for OfficeProbe {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.0.to_owned(),
            description: format!("The tool {}.", self.0),
            parameters: json!({"type": "object", "properties": {}}),
        }
    }

    fn effect(&self) -> Effect {
        Effect::Lasting
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
        let office = &context.office;
        let told = if let Some(words) = text("task") {
            let delete_after = text("cleanup").is_some();
            let task = Task { words, label: text("label"), delete_after, ..Task::default() };
            format!("{:?}", office.spawn(task).await)
        } else if let Some(session) = text("session") {
            let session = SessionKey::new(session);
            format!("{:?}", office.tell(&session, &text("words").unwrap(), Duration::from_secs(30)).await)
        } else if let Some(command) = text("ask") {
            format!("Decision: {:?}", office.ask(Question { command, ..Question::default() }).await)
        } else {
            let to = context.address.clone().unwrap_or_default();
            let letter = Letter { to, text: text("text").unwrap_or_default(), ..Letter::default() };
            format!("{:?}", office.send(letter).await)
        };
        ToolOutput::text(&told)
    }
}

/// A hook that notes what it is told.
pub struct Ear {
    name: String,
    points: Vec<HookPoint>,
    priority: i32,
    pub heard: Mutex<Vec<HookEvent>>,
    answer: Box<dyn Fn(&HookEvent) -> HookAnswer + Send + Sync>,
}

impl Ear {
    pub fn new(name: &str, points: &[HookPoint]) -> Self {
        Self {
            name: name.to_owned(),
            points: points.to_vec(),
            priority: 0,
            heard: Mutex::default(),
            answer: Box::new(|_| HookAnswer::Nothing),
        }
    }

    pub fn urgent(self, priority: i32) -> Self {
        Self { priority, ..self }
    }

    pub fn answering(self, answer: impl Fn(&HookEvent) -> HookAnswer + Send + Sync + 'static) -> Self {
        Self { answer: Box::new(answer), ..self }
    }

    pub fn events(&self) -> Vec<Value> {
        self.heard.lock().unwrap().iter().map(|event| serde_json::to_value(event).unwrap()).collect()
    }
}

#[async_trait]
impl Hook for Ear {
    fn name(&self) -> &str {
        &self.name
    }

    fn points(&self) -> &[HookPoint] {
        &self.points
    }

    fn priority(&self) -> i32 {
        self.priority
    }

    async fn handle(&self, event: &HookEvent) -> HookAnswer {
        self.heard.lock().unwrap().push(event.clone());
        (self.answer)(event)
    }
}

/// How a message ended.
pub async fn outcome(ticket: TurnHandle) -> Outcome {
    ticket.done.await.expect("a report").outcome
}

/// The questions that the model was asked, without what stood before them.
pub fn questions(stage: &Stage) -> Vec<String> {
    let last = |request: yabby_domain::seam::model::ModelRequest| {
        request.messages.last().map(yabby_testkit::scripted_model::told).unwrap_or_default()
    };
    stage.model.asked().into_iter().map(last).collect()
}

/// Every message that was accepted is done with.
pub fn assert_settled(stage: &Stage) {
    let turns = progress(stage.journal.records());
    let left: Vec<_> = turns.iter().filter(|(_, progress)| progress.settled.is_none()).collect();
    assert!(left.is_empty(), "not settled: {left:?}");
}
