//! Opening the session of a message: resumed, begun anew, or forked (`sessions.md` §9).

use std::sync::Arc;

use yabby_domain::config::Config;
use yabby_domain::directive::level::{Level, ReasoningLevel, ThinkLevel, VerboseLevel, default_think_level};
use yabby_domain::model::choice::choice_patch;
use yabby_domain::model::reset_hint::reset_hint;
use yabby_domain::reply::notices;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::seam::{Fork as ForkAt, StoreError};
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::open::{Fork, OpenRequest, Opening};
use yabby_domain::session::path;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::turn::{Opened as OpenedStep, Outcome, Step};

use super::TurnError;
use crate::agent::Run;
use crate::agent::model::{ModelChoice, Models};
use crate::events::EventKind;
use crate::home::AgentHome;
use crate::hooks::HookEvent;
use crate::inbox::Inbound;
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
        let configured = self.config.text(&["agents", "defaults", "thinkingDefault"]);
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
        let configured = self.config.text(&["agents", "defaults", "verboseDefault"]);
        self.entry.verbose_level().or(configured).and_then(VerboseLevel::parse).unwrap_or(VerboseLevel::Off)
    }

    pub(crate) fn reasoning(&self) -> ReasoningLevel {
        self.entry.reasoning_level().and_then(ReasoningLevel::parse).unwrap_or(ReasoningLevel::Off)
    }

    /// Changes the record.
    pub(crate) async fn update(
        &mut self,
        change: impl FnOnce(&SessionEntry) -> Option<Patch> + Send + 'static,
    ) -> Result<(), StoreError> {
        let changed = self.home.sessions.update(
            &self.key,
            Box::new(move |entry| {
                if let Some(entry) = entry
                    && let Some(patch) = change(entry)
                {
                    entry.apply(&patch);
                }
            }),
        );
        if let Some(entry) = changed.await? {
            self.entry = entry;
        }
        Ok(())
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
            usage: run.last_usage,
            system_prompt_report: Some(run.system_prompt_report.clone()),
            ..self.report(inbound)
        }
    }
}

/// Opens the session that a message is for.
pub(crate) async fn open_session(engine: &Engine, inbound: &Inbound) -> Result<Opened, TurnError> {
    let config = engine.config();
    let home = engine.home(&inbound.target.agent)?;
    let stored = home.sessions.get(inbound.key()).await?;
    let models = Models::of(engine, &config, &inbound.target.agent);
    if let Some(opened) = opened_before(inbound, stored.as_ref(), &config, &home, &models)? {
        return Ok(opened);
    }
    #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
    let now = engine.now_ms() as f64;
    let request = OpenRequest {
        message: &inbound.message,
        config: &config,
        entry: stored.as_ref(),
        authorized: inbound.authority.is_authorized && inbound.words == crate::inbox::Words::OfMessage,
        now,
        zone: &engine.0.zone,
    };
    let opening = Opening::decide(inbound.target.clone(), &request);
    let fork = fork_of(&opening, &home).await?;
    let new_id = fresh_id();
    let mut patch = opening.record(fork.as_ref(), &home.state, &mut || new_id.clone());
    let mut body = opening.body.clone();
    if let Some(rest) = opening.reset.as_deref()
        && let Some((selection, rest)) = reset_hint(rest, &models.choices())
    {
        // The reset has cleared the earlier choice; what is left of it in the record goes with this one.
        let mut before = stored.clone().unwrap_or_default();
        before.apply(&patch);
        patch.overlay(&choice_patch(&before, &selection, None, now));
        body = inbound.message.signed(&rest);
    }
    let written = patch.clone();
    let change = move |entry: &mut Option<SessionEntry>| entry.get_or_insert_default().apply(&written);
    let entry = home.sessions.update(inbound.key(), Box::new(change)).await?.unwrap_or_default();
    let session_id = entry.session_id().unwrap_or_default().to_owned();
    let transcript = transcript_of(&entry)?;
    let model = models.chosen(&entry, inbound, &home).await;
    let mut opened = Opened {
        thinking: inbound.options.thinking.as_deref().and_then(ThinkLevel::parse),
        is_new: opening.is_new(),
        was_reset: opening.reset.is_some(),
        aborted_last_run: opening.aborted_last_run,
        notices: Vec::new(),
        key: inbound.key().clone(),
        config: config.clone(),
        home,
        entry,
        session_id,
        transcript,
        body,
        model,
    };
    if opened.is_new {
        tell_of_new_session(engine, inbound, &mut opened, stored.as_ref(), &models);
    }
    let step = Step::Opened(OpenedStep {
        session_key: opened.key.as_str().to_owned(),
        session_id: opened.session_id.clone(),
        transcript: opened.transcript.as_str().to_owned(),
        asked_at: inbound.accepted_at,
    });
    engine.0.log.note(&inbound.turn, [Step::Begun { run: inbound.turn.clone() }, step]).await?;
    Ok(opened)
}

/// The session that was opened for this message before the engine was stopped. It is not opened again: a
/// word that resets would do so twice.
fn opened_before(
    inbound: &Inbound,
    stored: Option<&SessionEntry>,
    config: &Arc<Config>,
    home: &Arc<AgentHome>,
    models: &Models<'_>,
) -> Result<Option<Opened>, TurnError> {
    let before = inbound.resume.as_ref().and_then(|progress| progress.opened.as_ref());
    let Some((before, entry)) = before.zip(stored) else { return Ok(None) };
    if entry.session_id() != Some(before.session_id.as_str()) {
        return Ok(None);
    }
    let request = OpenRequest {
        message: &inbound.message,
        config,
        entry: None,
        authorized: inbound.authority.is_authorized && inbound.words == crate::inbox::Words::OfMessage,
        now: 0.0,
        zone: &jiff::tz::TimeZone::UTC,
    };
    let opening = Opening::decide(inbound.target.clone(), &request);
    let body = match opening.reset.as_deref().and_then(|rest| reset_hint(rest, &models.choices())) {
        Some((_, rest)) => inbound.message.signed(&rest),
        None => opening.body,
    };
    Ok(Some(Opened {
        thinking: inbound.options.thinking.as_deref().and_then(ThinkLevel::parse),
        is_new: opening.reset.is_some(),
        was_reset: opening.reset.is_some(),
        aborted_last_run: false,
        notices: Vec::new(),
        key: inbound.key().clone(),
        config: config.clone(),
        home: home.clone(),
        session_id: before.session_id.clone(),
        transcript: TranscriptId::of_file(&format!("{}.jsonl", before.transcript))?,
        model: models.of_entry(entry),
        entry: entry.clone(),
        body,
    }))
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

fn tell_of_new_session(
    engine: &Engine,
    inbound: &Inbound,
    opened: &mut Opened,
    before: Option<&SessionEntry>,
    models: &Models<'_>,
) {
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
