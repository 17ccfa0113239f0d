//! Agents that agents start: a session of their own, a task, and a result that is announced where it was
//! asked for.
//!
//! Task and announcement are turns like any other, each on record before it is relied on: a task goes on
//! after a crash, and its result is announced once.

use yabby_domain::config::Config;
use yabby_domain::config::agents::model_choice::ModelReference;
use yabby_domain::directive::level::{Level as _, ThinkLevel};
use yabby_domain::id::AgentId;
use yabby_domain::inbound::InboundMessage;
use yabby_domain::json::Value;
use yabby_domain::model::choice::choice_patch;
use yabby_domain::principal::{Announcement, OnBehalfOf, Principal, ReplyTo};
use yabby_domain::seam::office::{Spawned, Task};
use yabby_domain::seam::{Choice, StoreError};
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::key::SessionKey;
use yabby_domain::text;
use yabby_domain::turn::{LaneClass, Outcome, TurnOptions};

use crate::agent::model::Models;
use crate::home::AgentHome;
use crate::inbound::Inbound;
use crate::office::said;
use crate::report::TurnReport;
use crate::services::{DeleteRequest, delete_session};
use crate::submit::Submission;
use crate::{Engine, fresh_id};

/// The name under which announcements come, so that one that comes twice is known.
const ANNOUNCER: &str = "subagent";

/// The session of a task that is done, which nobody wants to keep.
#[must_use]
pub(crate) struct DoneWith {
    agent: AgentId,
    key: SessionKey,
}

impl DoneWith {
    /// Puts it away. Not before its turn is settled: a turn that is taken up again and does not find its
    /// conversation does the task again.
    pub(crate) async fn put_away(self, engine: &Engine) {
        if let Ok(home) = engine.home(&self.agent) {
            put_away(&home, &self.key).await;
        }
    }
}

impl Engine {
    /// Gives a task to an agent of its own.
    pub(crate) async fn spawn_subagent(
        &self,
        session: &SessionKey,
        agent: &AgentId,
        behalf: OnBehalfOf,
        task: Task,
    ) -> Result<Spawned, String> {
        if session.is_subagent() {
            return Err("sessions_spawn is not allowed from sub-agent sessions".to_owned());
        }
        let config = self.config();
        let worker = task.agent.clone().unwrap_or_else(|| agent.clone());
        may_spawn(&config, agent, &worker)?;
        let key = SessionKey::new(format!("agent:{worker}:subagent:{}", fresh_id()));
        let home = self.home(&worker).map_err(|error| error.to_string())?;
        self.put_old_ones_away(&home, &config).await;
        let thinking = thinking_of(&config, &worker, &task)?;
        let warning =
            self.prepare(&home, &key, session, &worker, &task).await.map_err(|error| error.to_string())?;
        let label = task.label.clone().unwrap_or_else(|| beginning(&task.words));
        let options = TurnOptions {
            lane: LaneClass::Subagent,
            thinking,
            timeout_ms: task.time_limit.and_then(|limit| u64::try_from(limit.as_millis()).ok()),
            extra_system_prompt: Some(context(session, &key, task.label.as_deref())),
            ..TurnOptions::default()
        };
        let reply_to = ReplyTo::Announcement(Announcement { label, delete_after: task.delete_after });
        let ticket = self.ask_session(&key, &task.words, behalf, reply_to, options).await?;
        Ok(Spawned { session: key, run: ticket.turn.as_str().to_owned(), warning })
    }

    /// The record of the new session: whose it is, what it is called, which model works there.
    async fn prepare(
        &self,
        home: &AgentHome,
        key: &SessionKey,
        requester: &SessionKey,
        worker: &AgentId,
        task: &Task,
    ) -> Result<Option<String>, StoreError> {
        let config = self.config();
        let models = Models::of(self, &config, worker);
        let named = |model: &Option<ModelReference>| {
            model.as_ref().and_then(|model| text::non_blank(model.primary()?)).map(str::to_owned)
        };
        let own = config.agent(worker).and_then(|agent| named(&agent.subagents.model));
        let own = own.or_else(|| named(&config.agents.defaults.subagents.model));
        let wanted = task.model.as_deref().and_then(text::non_blank).or(own.as_deref());
        let selection = wanted.map(|name| models.choices().select(name).map_err(|error| error.to_string()));
        let (selection, warning) = match selection {
            Some(Ok(selection)) => match self.find_model(&selection.model) {
                Ok(_) => (Some(selection), None),
                Err(error) => (None, Some(error.message)),
            },
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        let inherited = match self.home(&requester.agent_id()) {
            Ok(home) if selection.is_none() => home.sessions.get(requester).await?,
            _ => None,
        };
        #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
        let now = self.now_ms() as f64;
        let mut patch = Patch::default();
        patch.set_session_id(Some(&fresh_id()));
        patch.set_updated_at(Some(now));
        patch.set_spawned_by(Some(requester.as_str()));
        patch.put("label", task.label.as_deref().and_then(text::non_blank).map(Value::from));
        if let Some(caller) = &inherited {
            patch.set_provider_override(caller.provider_override());
            patch.set_model_override(caller.model_override());
        }
        if let Some(selection) = &selection {
            patch.overlay(&choice_patch(&SessionEntry::default(), selection, None, now));
        }
        let change = move |entry: &mut Option<SessionEntry>| entry.get_or_insert_default().apply(&patch);
        home.sessions.update(key, Box::new(change)).await?;
        Ok(warning)
    }

    /// Announces the result of a task where it was asked for. Comes back when the announcement is on record;
    /// the task's session, if it is of no use from then on.
    pub(crate) async fn announce(&self, inbound: &Inbound, report: &TurnReport) -> Option<DoneWith> {
        let (Principal::Agent(behalf), ReplyTo::Announcement(announce)) =
            (&inbound.principal, &inbound.reply_to)
        else {
            return None;
        };
        if report.outcome != Outcome::Aborted {
            let requester = SessionKey::new(behalf.session.as_str());
            let message = InboundMessage {
                body: Some(announcement(announce, report)),
                session_key: Some(requester.as_str().to_owned()),
                provider: None,
                // Together they name the announcement: after a crash it is made again, and known.
                surface: Some(ANNOUNCER.to_owned()),
                from: Some(inbound.key().as_str().to_owned()),
                message_id: Some(inbound.turn.as_str().to_owned()),
                ..InboundMessage::default()
            };
            let from = OnBehalfOf { session: inbound.key().as_str().to_owned(), ..behalf.clone() };
            let principal = Principal::Agent(from);
            if let Err(error) = self.submit(Submission { principal, message, ..Submission::default() }).await
            {
                tracing::warn!(%error, session = %requester, "the result of a task was not announced");
                return None;
            }
        }
        announce
            .delete_after
            .then(|| DoneWith { agent: inbound.target().agent.clone(), key: inbound.key().clone() })
    }

    /// Stops what works for a session; how many agents that were.
    pub(crate) async fn stop_subagents(&self, session: &SessionKey) -> usize {
        let mut stopped = 0;
        for key in self.subagents_of(session).await {
            stopped += usize::from(self.0.lanes.abort(&key).await);
        }
        stopped
    }

    /// The sessions that work for another one at the moment.
    pub(crate) async fn subagents_of(&self, session: &SessionKey) -> Vec<SessionKey> {
        let mut found = Vec::new();
        for key in self.busy().into_iter().filter(SessionKey::is_subagent) {
            let Ok(home) = self.home(&key.agent_id()) else { continue };
            let entry = home.sessions.get(&key).await.ok().flatten();
            if entry.as_ref().and_then(SessionEntry::spawned_by) == Some(session.as_str()) {
                found.push(key);
            }
        }
        found
    }

    /// Sessions of tasks that were done a while ago are put away.
    async fn put_old_ones_away(&self, home: &AgentHome, config: &Config) {
        let minutes = config.agents.defaults.subagents.archive_after_minutes();
        if minutes <= 0.0 {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
        let before = self.now_ms() as f64 - minutes * 60_000.0;
        let tasks = Choice { keys: Box::new(SessionKey::is_subagent), records: None, most: usize::MAX };
        let Ok(tasks) = home.sessions.newest(tasks).await else { return };
        let busy = self.busy();
        let is_old = |(key, entry): &(SessionKey, SessionEntry)| {
            !busy.contains(key) && entry.updated_at().is_some_and(|at| at < before)
        };
        for (key, _) in tasks.entries.into_iter().filter(is_old) {
            put_away(home, &key).await;
        }
    }
}

async fn put_away(home: &AgentHome, key: &SessionKey) {
    // Its turn is about to end, or nothing runs in it: its lane is not waited for.
    let request = DeleteRequest { key: key.clone(), keeps_transcript: false };
    if let Err(error) = delete_session(&home.scope(), &request).await {
        tracing::warn!(%error, session = %key, "the session of a task was not put away");
    }
}

/// Which agents an agent may start, besides itself.
fn may_spawn(config: &Config, agent: &AgentId, worker: &AgentId) -> Result<(), String> {
    if agent == worker {
        return Ok(());
    }
    let listed = config.agent(agent).and_then(|agent| agent.subagents.allow_agents.as_ref());
    let listed: Vec<&str> = listed.into_iter().flatten().filter_map(|name| text::non_blank(name)).collect();
    if listed.iter().any(|name| *name == "*" || AgentId::normalize(name) == *worker) {
        return Ok(());
    }
    let allowed = if listed.is_empty() { "none".to_owned() } else { listed.join(", ") };
    Err(format!("agentId is not allowed for sessions_spawn (allowed: {allowed})"))
}

fn thinking_of(config: &Config, worker: &AgentId, task: &Task) -> Result<Option<String>, String> {
    let own = config.agent(worker).and_then(|agent| agent.subagents.thinking.as_deref());
    let common = || config.agents.defaults.subagents.thinking.as_deref();
    let wanted = task.thinking.as_deref().and_then(text::non_blank).or(own).or_else(common);
    let Some(wanted) = wanted.and_then(text::non_blank) else { return Ok(None) };
    match ThinkLevel::parse(wanted) {
        Some(level) => Ok(Some(level.as_str().to_owned())),
        None => Err(format!(
            "Invalid thinking level \"{wanted}\". Use one of: off, minimal, low, medium, high, xhigh."
        )),
    }
}

fn beginning(words: &str) -> String {
    let line = words.lines().next().unwrap_or_default();
    line.chars().take(60).collect()
}

/// What a subagent is told about itself.
fn context(requester: &SessionKey, own: &SessionKey, label: Option<&str>) -> String {
    let label = label.map(|label| format!(" ({label})")).unwrap_or_default();
    format!(
        "## Subagent\n\
         You work on one task{label} for another session, {requester}; your own is {own}. Nobody reads along: do the task to its end without asking back, then answer with what you found or did, briefly and completely. That answer is all that is handed on. Do nothing beside the task, and message nobody unless the task names them."
    )
}

/// What the session that asked is told.
fn announcement(announce: &Announcement, report: &TurnReport) -> String {
    let (status, notes) = match report.outcome {
        Outcome::Failed => ("error", report.error.clone()),
        _ => ("success", None),
    };
    let result = said(report).unwrap_or_else(|| "(not available)".to_owned());
    let notes = notes.map(|notes| format!("\nNotes: {notes}")).unwrap_or_default();
    let tokens = report
        .usage
        .map(|usage| format!(" • tokens {}", usage.total.unwrap_or_default()))
        .unwrap_or_default();
    let id = report.session_id.as_deref().unwrap_or("unknown");
    format!(
        "A background task has ended: {}\n\nStatus: {status}\nResult: {result}{notes}\n\nStats: runtime {} s{tokens} • sessionKey {} • sessionId {id}\n\nTell the person what matters of it, in your own words. If nothing needs to be said, answer NO_REPLY.",
        announce.label,
        report.duration_ms.div_ceil(1000),
        report.session_key,
    )
}
