//! Opening the session of a message: resumed, begun anew, or forked (`sessions.md` §9).

use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;

use yabby_domain::config::Config;
use yabby_domain::config::word::Word;
use yabby_domain::directive::level::{Level, ReasoningLevel, ThinkLevel, VerboseLevel, default_think_level};
use yabby_domain::model::choice::choice_patch;
use yabby_domain::model::reset_hint::reset_hint;
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
use yabby_domain::turn::{Opened as OpenedStep, Outcome, Step, TurnId};

use super::TurnError;
use crate::agent::Run;
use crate::agent::model::{ModelChoice, Models};
use crate::events::EventKind;
use crate::home::AgentHome;
use crate::hooks::HookEvent;
use crate::inbox::{Inbound, OnRecord, Words};
use crate::report::TurnReport;
use crate::{Engine, fresh_id};

/// A session that is open for a turn.
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
    /// Nothing is changed before the message is there.
    on_record: OnRecord,
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
    ) -> Result<(), TurnError> {
        self.on_record.reached().await?;
        if let Some(entry) = self.home.change(&self.key, change).await? {
            self.entry = entry;
        }
        self.is_untouched = false;
        Ok(())
    }

    /// Notes in the record that the session was used, if nothing else did.
    pub(crate) async fn touch(&mut self, engine: &Engine) -> Result<(), TurnError> {
        if !std::mem::take(&mut self.is_untouched) {
            return Ok(());
        }
        #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
        let now = engine.now_ms() as f64;
        self.update(move |_| {
            let mut patch = Patch::default();
            patch.set_updated_at(Some(now));
            Some(patch)
        })
        .await
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

/// Opens the session that a message is for.
///
/// Which session that is stands in the journal before it stands in the store. After a crash in between the
/// same session is opened: a word that begins a session anew does so once.
pub(crate) async fn open_session(engine: &Engine, inbound: &Inbound) -> Result<(Opened, Footing), TurnError> {
    loop {
        if let Some(opened) = try_open(engine, inbound).await? {
            return Ok(opened);
        }
    }
}

/// What a turn stands on: its message is on record, and so is that it was begun. It gets ready meanwhile; whatever cannot
/// be taken back or done again waits for this.
#[derive(Default)]
pub(crate) struct Footing {
    on_record: OnRecord,
    /// On its way to the journal.
    noting: Option<Noting>,
}

type Noting = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

impl Footing {
    /// Comes back when all of it is there.
    pub(crate) async fn reached(&mut self) -> Result<(), TurnError> {
        self.on_record.reached().await?;
        if let Some(noting) = &mut self.noting {
            let noted = noting.await;
            self.noting = None;
            noted?;
        }
        Ok(())
    }

    /// Begins to note that a turn was begun.
    fn note(&mut self, engine: &Engine, turn: &TurnId, opened: Step) -> Result<(), StoreError> {
        let (engine, turn) = (engine.clone(), turn.clone());
        let mut noting: Noting = Box::pin(async move {
            let steps = [Step::Begun { run: turn.clone() }, opened];
            engine.0.log.note(&turn, steps).await
        });
        match noting.as_mut().now_or_never() {
            Some(noted) => noted?,
            None => self.noting = Some(noting),
        }
        Ok(())
    }
}

/// Opens it, unless another process has begun it anew meanwhile: then everything is to be decided again.
async fn try_open(engine: &Engine, inbound: &Inbound) -> Result<Option<(Opened, Footing)>, TurnError> {
    let mut footing = Footing { on_record: inbound.on_record.clone(), noting: None };
    let config = engine.config();
    let home = engine.home(&inbound.target.agent)?;
    let stored = home.sessions.get(inbound.key()).await?;
    #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
    let now = engine.now_ms() as f64;
    let request = OpenRequest {
        message: &inbound.message,
        config: &config,
        entry: stored.as_ref(),
        authorized: inbound.authority.is_authorized && inbound.words == Words::OfMessage,
        now,
        zone: &engine.0.zone,
    };
    let opening = Opening::decide(inbound.target.clone(), &request);
    let models = Models::of(engine, &config, &inbound.target.agent);
    let hint = opening.reset.as_deref().and_then(|rest| reset_hint(rest, &models.choices()));
    let body = match &hint {
        Some((_, rest)) => inbound.message.signed(rest),
        None => opening.body.clone(),
    };
    let before = inbound.resume.as_ref().and_then(|progress| progress.opened.as_ref());
    if let Some(entry) = &stored
        && (inbound.beside || before.is_some_and(|before| entry.session_id() == Some(&before.session_id)))
    {
        // A session in which a run goes on is looked at, and one that was opened for this very message
        // is not opened again.
        let was_reset = !inbound.beside && opening.reset.is_some();
        let is_new = was_reset || !inbound.beside && entry.system_sent() != Some(true);
        let mut opened = Opened {
            is_new,
            was_reset,
            aborted_last_run: entry.aborted_last_run().unwrap_or(false),
            ..Opened::of(inbound, entry.clone(), &models, config.clone(), home.clone(), body).await?
        };
        if is_new {
            add_notices(&mut opened, inbound, &models);
        }
        return Ok(Some((opened, footing)));
    }
    if opening.fork_from().is_some() {
        footing.reached().await?;
    }
    let fork = match before.zip(opening.fork_from()) {
        Some((before, _)) => Some(Fork {
            session_id: before.session_id.clone(),
            session_file: path::join(&home.conversations, &format!("{}.jsonl", before.transcript)),
        }),
        None => fork_of(&opening, &home).await?,
    };
    let new_id = before.map_or_else(fresh_id, |before| before.session_id.clone());
    let mut patch = opening.record(fork.as_ref(), &home.state, &mut || new_id.clone());
    if opening.is_new() {
        cli_session::forget(&mut patch);
    }
    let mut planned = stored.clone().unwrap_or_default();
    planned.apply(&patch);
    if let Some((selection, _)) = &hint {
        // The reset has cleared the earlier choice; what is left of it in the record goes with this one.
        patch.overlay(&choice_patch(&planned, selection, None, now));
    }
    let step = Step::Opened(OpenedStep {
        session_key: inbound.key().as_str().to_owned(),
        session_id: planned.session_id().unwrap_or_default().to_owned(),
        transcript: transcript_of(&planned)?.as_str().to_owned(),
        asked_at: inbound.accepted_at,
    });
    let only_time =
        hint.is_none() && stored.as_ref().is_some_and(|stored| differs_in_time_alone(stored, &planned));
    footing.note(engine, &inbound.turn, step)?;
    if !only_time {
        footing.reached().await?;
    }
    let entry = if only_time {
        // Whatever ends the turn writes the record anyway; nothing is lost if it never does.
        planned
    } else {
        let wanted = planned.session_id().map(str::to_owned);
        let seen = stored.as_ref().and_then(SessionEntry::session_id).map(str::to_owned);
        if seen.is_some() && seen != wanted {
            home.let_go_of_conversation().await;
        }
        let change = move |entry: &mut Option<SessionEntry>| {
            let found = entry.as_ref().and_then(SessionEntry::session_id).map(str::to_owned);
            if found == seen {
                entry.get_or_insert_default().apply(&patch);
            }
        };
        let entry = home.sessions.update(inbound.key(), Box::new(change)).await?.unwrap_or_default();
        if entry.session_id().map(str::to_owned) != wanted {
            return Ok(None);
        }
        entry
    };
    let mut opened = Opened {
        is_untouched: only_time,
        is_new: opening.is_new(),
        was_reset: opening.reset.is_some(),
        aborted_last_run: opening.aborted_last_run,
        ..Opened::of(inbound, entry, &models, config.clone(), home, body).await?
    };
    if opened.is_new {
        tell_of_new_session(engine, inbound, &opened, stored.as_ref());
        add_notices(&mut opened, inbound, &models);
    }
    Ok(Some((opened, footing)))
}

impl Opened {
    /// A session that goes on.
    async fn of(
        inbound: &Inbound,
        entry: SessionEntry,
        models: &Models<'_>,
        config: Arc<Config>,
        home: Arc<AgentHome>,
        body: String,
    ) -> Result<Self, TurnError> {
        Ok(Self {
            config,
            key: inbound.key().clone(),
            session_id: entry.session_id().unwrap_or_default().to_owned(),
            transcript: transcript_of(&entry)?,
            is_untouched: false,
            on_record: inbound.on_record.clone(),
            is_new: false,
            was_reset: false,
            aborted_last_run: false,
            body,
            model: models.chosen(&entry, inbound, &home).await,
            thinking: inbound.options.thinking.as_deref().and_then(ThinkLevel::parse),
            notices: Vec::new(),
            home,
            entry,
        })
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

/// The transcript that a record names.
pub(crate) fn transcript_of(entry: &SessionEntry) -> Result<TranscriptId, TurnError> {
    Ok(match entry.session_file() {
        Some(file) => TranscriptId::of_file(path::name_of(file))?,
        None => TranscriptId::new(entry.session_id().unwrap_or_default(), None)?,
    })
}

/// The transcript of a thread goes on from its parent's.
async fn fork_of(opening: &Opening, home: &AgentHome) -> Result<Option<Fork>, TurnError> {
    let Some(parent) = opening.fork_from() else { return Ok(None) };
    let Some(parent) = home.sessions.get(&parent).await? else { return Ok(None) };
    let forked = match transcript_of(&parent) {
        Ok(source) => home.transcripts.fork(&source, ForkAt::Leaf).await,
        Err(error) => return Err(error),
    };
    match forked {
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

/// What the sender is told about a new session.
fn add_notices(opened: &mut Opened, inbound: &Inbound, models: &Models<'_>) {
    if opened.was_reset
        && let Ok(choice) = &opened.model
    {
        opened.notices.push(notices::session_started(&choice.model, &models.default));
    }
    if opened.verbose() != VerboseLevel::Off || wants_verbose(inbound) {
        opened.notices.push(notices::new_session(&opened.session_id));
    }
}

fn wants_verbose(inbound: &Inbound) -> bool {
    let level = inbound.options.verbose.as_deref().and_then(VerboseLevel::parse);
    level.is_some_and(|level| level != VerboseLevel::Off)
}
