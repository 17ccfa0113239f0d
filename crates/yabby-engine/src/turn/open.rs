//! Opening the session of a message: resumed, begun anew, or forked (`sessions.md` §9).

use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;

use yabby_domain::config::Config;
use yabby_domain::config::word::Word;
use yabby_domain::directive::level::{Level, ReasoningLevel, ThinkLevel, VerboseLevel, default_think_level};
use yabby_domain::model::choice::choice_patch;
use yabby_domain::model::reset_hint::reset_hint;
use yabby_domain::model::select::Selection;
use yabby_domain::reply::notices;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::seam::{Fork as ForkAt, StoreError};
use yabby_domain::session::cli_session;
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::open::{Fork, OpenRequest, Opening};
use yabby_domain::session::path;
use yabby_domain::text;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::turn::{Opened as OpenedStep, Outcome, Step};

use super::TurnError;
use crate::agent::Run;
use crate::agent::model::{ModelChoice, Models};
use crate::durability::Recorded;
use crate::events::EventKind;
use crate::home::AgentHome;
use crate::hooks::HookEvent;
use crate::inbound::{Inbound, PromptSource};
use crate::report::TurnReport;
use crate::{Engine, fresh_id};

/// A session that is open for a turn.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) config: Arc<Config>,
    pub(crate) home: Arc<AgentHome>,
    pub(crate) key: SessionKey,
    /// As it is in the store.
    pub(crate) entry: SessionEntry,
    pub(crate) session_id: String,
    pub(crate) transcript: TranscriptId,
    /// The record does not say yet that the session was used.
    is_untouched: bool,
    pub(crate) is_new: bool,
    /// A word of the sender began it anew.
    pub(crate) was_reset: bool,
    pub(crate) aborted_last_run: bool,
    /// What the message says to the agent.
    pub(crate) body: String,
    pub(crate) model: Result<ModelChoice, yabby_domain::seam::model::ModelError>,
    /// Only for this turn.
    pub(crate) thinking: Option<ThinkLevel>,
    /// What is told before the reply.
    pub(crate) notices: Vec<ReplyPayload>,
}

impl Opened {
    pub(crate) fn thinking(&self) -> ThinkLevel {
        let stored = || self.entry.thinking_level().and_then(ThinkLevel::parse);
        self.thinking.or_else(stored).unwrap_or_else(|| self.default_thinking())
    }

    fn default_thinking(&self) -> ThinkLevel {
        let configured = self.config.agents.defaults.thinking_default.as_ref().map(Word::as_str);
        let level = match &self.model {
            Ok(choice) => {
                let catalog = [choice.catalogued()];
                default_think_level(configured, &catalog, &choice.model.provider, &choice.model.model)
            }
            Err(_) => configured.unwrap_or_default(),
        };
        ThinkLevel::parse(level).unwrap_or(ThinkLevel::Off)
    }

    pub(crate) fn verbose(&self) -> VerboseLevel {
        let configured = self.config.agents.defaults.verbose_default.as_ref().map(Word::as_str);
        self.entry.verbose_level().or(configured).and_then(VerboseLevel::parse).unwrap_or(VerboseLevel::Off)
    }

    pub(crate) fn reasoning(&self) -> ReasoningLevel {
        self.entry.reasoning_level().and_then(ReasoningLevel::parse).unwrap_or(ReasoningLevel::Off)
    }

    /// The credentials that somebody chose for the session.
    pub(crate) fn pinned_profile(&self) -> Option<String> {
        let chosen = match self.entry.auth_profile_override_source() {
            Some(source) => source == "user",
            // Older records do not say who chose; whoever does so by itself counts compactions.
            None => self.entry.auth_profile_override_compaction_count().is_none(),
        };
        let profile = self.entry.auth_profile_override().and_then(text::non_blank);
        profile.filter(|_| chosen).map(str::to_owned)
    }

    /// Changes the record.
    pub(crate) async fn update(
        &mut self,
        change: impl FnOnce(&SessionEntry) -> Option<Patch> + Send + 'static,
        _recorded: &Recorded,
    ) -> Result<(), TurnError> {
        if let Some(entry) = self.home.change(&self.key, change).await? {
            self.entry = entry;
        }
        self.is_untouched = false;
        Ok(())
    }

    /// Notes in the record that the session was used, if nothing else did.
    pub(crate) async fn touch(&mut self, engine: &Engine, recorded: &Recorded) -> Result<(), TurnError> {
        if !std::mem::take(&mut self.is_untouched) {
            return Ok(());
        }
        #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
        let now = engine.now_ms() as f64;
        let change = move |_: &SessionEntry| {
            let mut patch = Patch::default();
            patch.set_updated_at(Some(now));
            Some(patch)
        };
        self.update(change, recorded).await
    }

    /// Adds what the sender is told about a new session.
    fn add_notices(&mut self, engine: &Engine, inbound: &Inbound) {
        if self.was_reset
            && let Ok(choice) = &self.model
        {
            let models = Models::of(engine, &self.config, &inbound.target().agent);
            self.notices.push(notices::session_started(&choice.model, &models.default));
        }
        if self.verbose() != VerboseLevel::Off || wants_verbose(inbound) {
            self.notices.push(notices::new_session(&self.session_id));
        }
    }

    pub(crate) fn report(&self, inbound: &Inbound) -> TurnReport {
        TurnReport {
            session_id: Some(self.session_id.clone()),
            model: self.model.as_ref().ok().map(|choice| choice.model.clone()),
            ..TurnReport::new(&inbound.turn, &self.key, Outcome::Answered)
        }
    }

    pub(crate) fn report_of(&self, inbound: &Inbound, run: &Run) -> TurnReport {
        TurnReport {
            outcome: match (&run.error, run.aborted) {
                (_, true) => Outcome::Aborted,
                (Some(_), _) => Outcome::Failed,
                (None, _) => Outcome::Answered,
            },
            error: run.error.as_ref().map(ToString::to_string),
            // Another one may have answered in the place of the one that was chosen.
            model: Some(run.model.clone()),
            usage: run.last_usage,
            system_prompt_report: Some(run.system_prompt_report.clone()),
            is_replay: run.is_replay,
            ..self.report(inbound)
        }
    }
}

/// How a session is to be opened: what its record says, and what is to become of it. Nothing is changed yet.
pub(crate) struct OpeningPlan<'i> {
    config: Arc<Config>,
    home: Arc<AgentHome>,
    stored: Option<SessionEntry>,
    opening: Opening<'i>,
    /// The session that was opened for this very message before the engine was stopped.
    before: Option<OpenedStep>,
    /// A model that was named behind the word that begins a session anew.
    hint: Option<Selection>,
    body: String,
    now: f64,
}

/// Reads what there is of the session of a message, and decides.
pub(crate) async fn plan_opening<'i>(
    engine: &Engine,
    inbound: &'i Inbound,
) -> Result<OpeningPlan<'i>, TurnError> {
    let config = engine.config();
    let home = engine.home(&inbound.target().agent)?;
    let stored = home.sessions.get(inbound.key()).await?;
    #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
    let now = engine.now_ms() as f64;
    let request = OpenRequest {
        message: &inbound.message,
        config: &config,
        entry: stored.as_ref(),
        authorized: inbound.authority().is_authorized && inbound.prompt == PromptSource::Message,
        now,
        zone: &engine.0.zone,
    };
    let opening = Opening::decide(inbound.target(), &request);
    let models = Models::of(engine, &config, &inbound.target().agent);
    let hint = opening.reset.as_deref().and_then(|rest| reset_hint(rest, &models.choices()));
    let (hint, body) = match hint {
        Some((selection, rest)) => (Some(selection), inbound.message.signed(&rest)),
        None => (None, opening.body.clone()),
    };
    let before = inbound.resume.as_ref().and_then(|progress| progress.opened.clone());
    Ok(OpeningPlan { config, home, stored, opening, before, hint, body, now })
}

/// The note in the journal of the session that a turn was begun in.
pub(crate) type SessionNote = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

impl OpeningPlan<'_> {
    /// The session as it will be for the turn, if nothing about it has to be changed first.
    pub(crate) async fn unchanged(
        &self,
        engine: &Engine,
        inbound: &Inbound,
    ) -> Result<Option<Opened>, TurnError> {
        if let Some(opened) = self.entered(engine, inbound).await? {
            return Ok(Some(opened));
        }
        if self.opening.is_new() || self.hint.is_some() {
            return Ok(None);
        }
        let Some(stored) = &self.stored else { return Ok(None) };
        let (_, planned) = self.planned(None);
        if !differs_in_time_alone(stored, &planned) {
            return Ok(None);
        }
        // Whatever ends the turn writes the record anyway; nothing is lost if it never does.
        let opened = Opened {
            is_untouched: true,
            aborted_last_run: self.opening.aborted_last_run,
            ..self.opened(engine, inbound, planned).await?
        };
        Ok(Some(opened))
    }

    /// Begins to note in which session the turn is begun, unless the journal says so already. What is left of that has to
    /// be waited for before anything else is done.
    pub(crate) fn begin_note(
        &self,
        engine: &Engine,
        inbound: &Inbound,
        opened: &Opened,
    ) -> Result<Option<SessionNote>, TurnError> {
        if !opened.is_untouched {
            return Ok(None);
        }
        Ok(note_session(engine, inbound, self.step(inbound, &opened.entry)?)?)
    }

    /// Opens the session.
    ///
    /// Which session that is stands in the journal before it stands in the store. After a crash in between the same
    /// session is opened: a word that begins a session anew does so once.
    pub(crate) async fn commit(
        self,
        engine: &Engine,
        inbound: &Inbound,
        recorded: &Recorded,
    ) -> Result<Opened, TurnError> {
        if let Some(opened) = self.try_commit(engine, inbound, recorded).await? {
            return Ok(opened);
        }
        loop {
            let plan = plan_opening(engine, inbound).await?;
            if let Some(opened) = plan.try_commit(engine, inbound, recorded).await? {
                return Ok(opened);
            }
        }
    }

    /// Opens it, unless another process has begun it anew meanwhile: then everything is to be decided again.
    async fn try_commit(
        &self,
        engine: &Engine,
        inbound: &Inbound,
        recorded: &Recorded,
    ) -> Result<Option<Opened>, TurnError> {
        if let Some(opened) = self.unchanged(engine, inbound).await? {
            if let Some(note) = self.begin_note(engine, inbound, &opened)? {
                note.await?;
            }
            return Ok(Some(opened));
        }
        let fork = match self.before.as_ref().zip(self.opening.fork_from()) {
            Some((before, _)) => Some(Fork {
                session_id: before.session_id.clone(),
                session_file: path::join(&self.home.conversations, &format!("{}.jsonl", before.transcript)),
            }),
            None => fork_parent(&self.opening, &self.home, recorded).await?,
        };
        let (patch, planned) = self.planned(fork.as_ref());
        if let Some(note) = note_session(engine, inbound, self.step(inbound, &planned)?)? {
            note.await?;
        }
        let wanted = planned.session_id().map(str::to_owned);
        let seen = self.stored.as_ref().and_then(SessionEntry::session_id).map(str::to_owned);
        if seen.is_some() && seen != wanted {
            self.home.scope().index_conversations().await;
        }
        let change = move |entry: &mut Option<SessionEntry>| {
            let found = entry.as_ref().and_then(SessionEntry::session_id).map(str::to_owned);
            if found == seen {
                entry.get_or_insert_default().apply(&patch);
            }
        };
        let entry = self.home.sessions.update(inbound.key(), Box::new(change)).await?.unwrap_or_default();
        if entry.session_id().map(str::to_owned) != wanted {
            return Ok(None);
        }
        let mut opened = Opened {
            is_new: self.opening.is_new(),
            was_reset: self.opening.reset.is_some(),
            aborted_last_run: self.opening.aborted_last_run,
            ..self.opened(engine, inbound, entry).await?
        };
        if opened.is_new {
            tell_of_new_session(engine, inbound, &opened, self.stored.as_ref());
            opened.add_notices(engine, inbound);
        }
        Ok(Some(opened))
    }

    /// A session that is not opened by this turn: a run goes on in it, or it was opened for this very message before
    /// the engine was stopped.
    async fn entered(&self, engine: &Engine, inbound: &Inbound) -> Result<Option<Opened>, TurnError> {
        let is_same = |entry: &SessionEntry| {
            self.before.as_ref().is_some_and(|before| entry.session_id() == Some(&before.session_id))
        };
        let Some(entry) = self.stored.as_ref().filter(|entry| inbound.concurrent || is_same(entry)) else {
            return Ok(None);
        };
        let was_reset = !inbound.concurrent && self.opening.reset.is_some();
        let is_new = was_reset || !inbound.concurrent && entry.system_sent() != Some(true);
        let mut opened = Opened {
            is_new,
            was_reset,
            aborted_last_run: entry.aborted_last_run().unwrap_or(false),
            ..self.opened(engine, inbound, entry.clone()).await?
        };
        if is_new {
            opened.add_notices(engine, inbound);
        }
        Ok(Some(opened))
    }

    /// What is written over the record, and what it becomes.
    fn planned(&self, fork: Option<&Fork>) -> (Patch, SessionEntry) {
        let new_id = self.before.as_ref().map_or_else(fresh_id, |before| before.session_id.clone());
        let mut patch = self.opening.record(fork, &self.home.state, &mut || new_id.clone());
        if self.opening.is_new() {
            cli_session::forget(&mut patch);
        }
        let mut planned = self.stored.clone().unwrap_or_default();
        planned.apply(&patch);
        if let Some(selection) = &self.hint {
            // The reset has cleared the earlier choice; what is left of it in the record goes with this one.
            patch.overlay(&choice_patch(&planned, selection, None, self.now));
        }
        (patch, planned)
    }

    fn step(&self, inbound: &Inbound, planned: &SessionEntry) -> Result<Step, TurnError> {
        Ok(Step::Opened(OpenedStep {
            session_key: inbound.key().as_str().to_owned(),
            session_id: planned.session_id().unwrap_or_default().to_owned(),
            transcript: TranscriptId::of_record(planned)?.as_str().to_owned(),
            asked_at: inbound.accepted_at,
        }))
    }

    /// A session that goes on.
    async fn opened(
        &self,
        engine: &Engine,
        inbound: &Inbound,
        entry: SessionEntry,
    ) -> Result<Opened, TurnError> {
        let models = Models::of(engine, &self.config, &inbound.target().agent);
        Ok(Opened {
            config: self.config.clone(),
            key: inbound.key().clone(),
            session_id: entry.session_id().unwrap_or_default().to_owned(),
            transcript: TranscriptId::of_record(&entry)?,
            is_untouched: false,
            is_new: false,
            was_reset: false,
            aborted_last_run: false,
            body: self.body.clone(),
            model: models.chosen(&entry, inbound, &self.home).await,
            thinking: inbound.options.thinking.as_deref().and_then(ThinkLevel::parse),
            notices: Vec::new(),
            home: self.home.clone(),
            entry,
        })
    }
}

/// Begins to note in which session a turn was begun. What is left of it has to be waited for.
fn note_session(engine: &Engine, inbound: &Inbound, opened: Step) -> Result<Option<SessionNote>, StoreError> {
    let (engine, turn) = (engine.clone(), inbound.turn.clone());
    let mut note: SessionNote = Box::pin(async move {
        let steps = [Step::Begun { run: turn.clone() }, opened];
        engine.0.log.note(&turn, steps).await
    });
    match note.as_mut().now_or_never() {
        Some(noted) => noted.map(|()| None),
        None => Ok(Some(note)),
    }
}

/// Whether two records differ in nothing but when the session was last used.
fn differs_in_time_alone(one: &SessionEntry, other: &SessionEntry) -> bool {
    let (one, other) = (one.as_object(), other.as_object());
    let same = |(field, value): (&String, &yabby_domain::json::Value)| {
        field == "updatedAt" || other.get(field) == Some(value)
    };
    one.len() == other.len() && one.iter().all(same)
}

/// The transcript of a thread goes on from its parent's.
async fn fork_parent(
    opening: &Opening<'_>,
    home: &AgentHome,
    _recorded: &Recorded,
) -> Result<Option<Fork>, TurnError> {
    let Some(parent) = opening.fork_from() else { return Ok(None) };
    let Some(parent) = home.sessions.get(&parent).await? else { return Ok(None) };
    let source = TranscriptId::of_record(&parent)?;
    match home.transcripts.fork(&source, ForkAt::Leaf).await {
        Ok(id) => {
            let name = id.file_name();
            Ok(Some(Fork {
                session_id: yabby_domain::transcript::file_name::session_in(&name).to_owned(),
                session_file: path::join(&home.conversations, &name),
            }))
        }
        // A thread whose parent cannot be read begins like any other session.
        Err(error) => {
            tracing::warn!(%error, "a thread was not forked from its parent");
            Ok(None)
        }
    }
}

fn tell_of_new_session(engine: &Engine, inbound: &Inbound, opened: &Opened, before: Option<&SessionEntry>) {
    let previous = before.and_then(SessionEntry::session_id).map(str::to_owned);
    let session_key = opened.key.as_str().to_owned();
    if let Some(session_id) = previous.clone() {
        engine.tell(
            &opened.key,
            Some(&inbound.turn),
            EventKind::SessionEnded { session_id: session_id.clone() },
        );
        engine.0.hooks.tell(HookEvent::SessionEnd { session_key: session_key.clone(), session_id });
    }
    let session_id = opened.session_id.clone();
    let started = EventKind::SessionStarted { session_id: session_id.clone(), previous: previous.clone() };
    engine.tell(&opened.key, Some(&inbound.turn), started);
    engine.0.hooks.tell(HookEvent::SessionStart { session_key, session_id, resumed_from: previous });
}

fn wants_verbose(inbound: &Inbound) -> bool {
    let level = inbound.options.verbose.as_deref().and_then(VerboseLevel::parse);
    level.is_some_and(|level| level != VerboseLevel::Off)
}
