//! An office that notes what tools ask of it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use yabby_domain::id::AgentId;
use yabby_domain::json::Value;
use yabby_domain::seam::office::{Conversations, Decision, Letter, Office, Question, Spawned, Task, Told};
use yabby_domain::session::key::SessionKey;

use crate::unpoisoned;

/// Copies are the same office.
#[derive(Clone, Default)]
pub struct NoteOffice(Arc<Mutex<Notes>>);

#[derive(Default)]
struct Notes {
    letters: Vec<Letter>,
    told: Vec<(SessionKey, String, Duration)>,
    tasks: Vec<Task>,
    notices: Vec<(SessionKey, String)>,
    questions: Vec<Question>,
    decisions: VecDeque<Decision>,
    conversations: HashMap<AgentId, Conversations>,
    /// What the next ones come to, if not to what they usually do.
    sending: VecDeque<String>,
    telling: VecDeque<Result<Told, String>>,
    spawning: VecDeque<Result<Option<String>, String>>,
}

impl NoteOffice {
    /// The next question that nobody decided yet is decided so.
    pub fn decide(&self, decision: Decision) {
        unpoisoned(&self.0).decisions.push_back(decision);
    }

    /// The next message is not sent, for this reason.
    pub fn send_says(&self, why: &str) {
        unpoisoned(&self.0).sending.push_back(why.to_owned());
    }

    /// What becomes of the next words to another session.
    pub fn tell_says(&self, told: Result<Told, String>) {
        unpoisoned(&self.0).telling.push_back(told);
    }

    /// What becomes of the next task: it is taken, perhaps with a warning, or not.
    pub fn spawn_says(&self, said: Result<Option<String>, String>) {
        unpoisoned(&self.0).spawning.push_back(said);
    }

    /// An agent keeps its conversations there.
    pub fn lend(&self, agent: AgentId, conversations: Conversations) {
        unpoisoned(&self.0).conversations.insert(agent, conversations);
    }

    pub fn letters(&self) -> Vec<Letter> {
        unpoisoned(&self.0).letters.clone()
    }

    pub fn told(&self) -> Vec<(SessionKey, String, Duration)> {
        unpoisoned(&self.0).told.clone()
    }

    pub fn tasks(&self) -> Vec<Task> {
        unpoisoned(&self.0).tasks.clone()
    }

    pub fn notices(&self) -> Vec<(SessionKey, String)> {
        unpoisoned(&self.0).notices.clone()
    }

    pub fn questions(&self) -> Vec<Question> {
        unpoisoned(&self.0).questions.clone()
    }
}

#[async_trait]
impl Office for NoteOffice {
    async fn send(&self, letter: Letter) -> Result<Option<String>, String> {
        let mut notes = unpoisoned(&self.0);
        if let Some(why) = notes.sending.pop_front() {
            return Err(why);
        }
        notes.letters.push(letter);
        Ok(Some("sent-1".to_owned()))
    }

    async fn tell(&self, session: &SessionKey, words: &str, wait: Duration) -> Result<Told, String> {
        let mut notes = unpoisoned(&self.0);
        if let Some(said) = notes.telling.pop_front() {
            return said;
        }
        notes.told.push((session.clone(), words.to_owned(), wait));
        Ok(Told::Answered { run: "run-1".to_owned(), reply: Some(format!("heard: {words}")) })
    }

    async fn spawn(&self, task: Task) -> Result<Spawned, String> {
        let mut notes = unpoisoned(&self.0);
        let warning = notes.spawning.pop_front().unwrap_or(Ok(None))?;
        notes.tasks.push(task);
        let session = SessionKey::new("agent:main:subagent:1");
        Ok(Spawned { session, run: "run-1".to_owned(), warning })
    }

    fn conversations(&self, agent: &AgentId) -> Result<Conversations, String> {
        let notes = unpoisoned(&self.0);
        notes.conversations.get(agent).cloned().ok_or_else(|| format!("there is no agent {agent}"))
    }

    fn notice(&self, session: &SessionKey, words: &str) {
        unpoisoned(&self.0).notices.push((session.clone(), words.to_owned()));
    }

    async fn look(&self, image: Value, question: &str) -> Result<String, String> {
        let kind = image.get("mimeType").and_then(Value::as_str).unwrap_or_default();
        Ok(format!("looked at {kind}: {question}"))
    }

    async fn ask(&self, question: Question) -> Decision {
        let mut notes = unpoisoned(&self.0);
        notes.questions.push(question);
        notes.decisions.pop_front().unwrap_or(Decision::Unanswered)
    }
}
