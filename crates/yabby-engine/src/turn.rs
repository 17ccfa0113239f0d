//! A turn: from a message that was accepted to a reply that was delivered.
//!
//! Each step gives the next one what it needs. Command lines, gateways, schedules and subagents all come
//! in through [`take`]; there is no second way.

pub(crate) mod blocks;
pub(crate) mod deliver;
pub(crate) mod flush;
pub(crate) mod open;
pub(crate) mod payloads;
pub(crate) mod prompt;
mod recall;
pub(crate) mod skills;
pub(crate) mod usage;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::seam::StoreError;
use yabby_domain::seam::model::ModelError;
use yabby_domain::turn::Outcome;
use yabby_domain::usage::Usage;

use crate::agent::conversation::Conversation;
use crate::agent::{self, RunRequest, time_limit};
use crate::commands;
use crate::durability::{NotAccepted, Recorded};
use crate::events::EventKind;
use crate::inbound::Inbound;
use crate::report::TurnReport;
use crate::steering::RunControl;
use crate::{Engine, recovery};
use deliver::{deliver, deliver_answer};
use flush::flush_if_due;
use open::{Opened, OpeningPlan, SessionNote, plan_opening};
use payloads::build_payloads;
use prompt::{Notices, Prompt, compose_prompt, take_notices};
use recall::remember;
use skills::{is_refresh_due, refresh_skills};
use usage::{Recording, record_usage};

/// Why a turn has no answer. It still gets a reply: this.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum TurnError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Transcript(#[from] yabby_domain::transcript::file_name::UnsafeName),
    #[error(transparent)]
    NotAccepted(#[from] NotAccepted),
    #[error(
        "Something went wrong in the program itself, and this message was not answered. Its log says more."
    )]
    Panicked,
}

/// Why a turn was not taken to its end.
#[derive(Debug)]
pub(crate) enum Untaken {
    /// The message could not be recorded; only its sender hears of it.
    NotAccepted,
    /// It was stopped before the model was asked.
    Stopped,
    /// Something could not be written. The turn stays in the journal, and goes on from there as after a crash.
    CannotWrite(StoreError),
}

/// Takes a turn, and reports how it went. If it fails, the sender is told why.
pub(crate) async fn take(engine: &Engine, inbound: &Inbound, control: &RunControl) -> Result<Taken, Untaken> {
    let started = Instant::now();
    let mut taken = match caught(take_turn(engine, inbound, control)).await {
        Ok(Ok(Some(taken))) => taken,
        Ok(Ok(None)) => return Err(Untaken::Stopped),
        Ok(Err(error)) | Err(error) => {
            let recorded = inbound.durable.wait().await.map_err(|NotAccepted| Untaken::NotAccepted)?;
            match error {
                TurnError::Store(error) if error.is_write_failure() => {
                    return Err(Untaken::CannotWrite(error));
                }
                error => fail(engine, inbound, &error, &recorded).await.into(),
            }
        }
    };
    let report = &mut taken.report;
    report.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    log_turn(inbound, report);
    let ended = EventKind::RunEnded { outcome: report.outcome, error: report.error.clone() };
    engine.tell(inbound.key(), Some(&inbound.turn), ended);
    Ok(taken)
}

/// One line for each turn: what an operator looks for.
fn log_turn(inbound: &Inbound, report: &TurnReport) {
    let message = &inbound.message;
    let channel = [&message.originating_channel, &message.provider, &message.surface];
    let channel = channel.into_iter().flatten().next().map_or("local", String::as_str);
    tracing::info!(
        session = %report.session_key,
        channel,
        model = report.model.as_ref().map(tracing::field::display),
        duration_ms = report.duration_ms,
        tokens = report.usage.as_ref().and_then(tokens_used),
        outcome = report.outcome.as_str(),
        error = report.error.as_deref(),
        "turn finished"
    );
}

fn tokens_used(usage: &Usage) -> Option<u64> {
    let apart = || Some(usage.prompt_tokens()? + usage.output.unwrap_or(0.0));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let count = |tokens: f64| tokens as u64;
    usage.total.or_else(apart).map(count)
}

/// A turn that was taken.
pub(crate) struct Taken {
    pub(crate) report: TurnReport,
    /// Let go of with the turn, if not before.
    pub(crate) conversation: Option<Conversation>,
    /// What it leaves in the record of its session. It is not over before that is written down.
    pub(crate) recording: Option<Recording>,
}

impl From<TurnReport> for Taken {
    fn from(report: TurnReport) -> Self {
        Self { report, conversation: None, recording: None }
    }
}

/// What a turn has read before its message was on record. Nothing was changed for it.
enum Prepared<'t> {
    /// A reply that was ready to be sent when the engine was stopped.
    Reply(Vec<ReplyPayload>),
    /// Something has to be changed, answered or taken first: a new session, a command, a notice.
    Opening(Box<OpeningPlan<'t>>),
    /// The session goes on as it is, and everything is there that the model is to be told.
    Run(Box<PreparedRun<'t>>, Option<SessionNote>),
}

/// A run that can begin.
struct PreparedRun<'t> {
    request: RunRequest<'t>,
    conversation: Conversation,
}

/// Takes a turn; `None` if it was stopped before the model was asked. What it needs is read while the journal is
/// written, and what cannot be taken back is done after that.
async fn take_turn(
    engine: &Engine,
    inbound: &Inbound,
    control: &RunControl,
) -> Result<Option<Taken>, TurnError> {
    let Some(mut prepared) = prepare(engine, inbound, control).await? else {
        return Ok(None);
    };
    let recorded = inbound.durable.wait().await?;
    if let Prepared::Run(_, note) = &mut prepared
        && let Some(note) = note.take()
    {
        note.await?;
    }
    commit(engine, inbound, control, prepared, &recorded).await
}

/// Reads what the turn needs; `None` if it was stopped.
async fn prepare<'t>(
    engine: &'t Engine,
    inbound: &'t Inbound,
    control: &'t RunControl,
) -> Result<Option<Prepared<'t>>, TurnError> {
    if let Some(payloads) = recovery::ready_reply(inbound) {
        return Ok(Some(Prepared::Reply(payloads)));
    }
    let plan = plan_opening(engine, inbound).await?;
    let Some(mut opened) = plan.unchanged(engine, inbound).await? else {
        return Ok(Some(Prepared::Opening(Box::new(plan))));
    };
    let is_plain = !commands::is_for_program(inbound, &opened)
        && !engine.has_notices(&opened.key)
        && !is_refresh_due(inbound, &opened).await;
    let prompt = match is_plain {
        true => compose_prompt(engine, inbound, &mut opened, &Notices::default()),
        false => None,
    };
    let Some(prompt) = prompt else {
        return Ok(Some(Prepared::Opening(Box::new(plan))));
    };
    let note = plan.begin_note(engine, inbound, &opened)?;
    let run = prepare_run(engine, inbound, control, opened, prompt).await?;
    Ok(run.map(|run| Prepared::Run(Box::new(run), note)))
}

/// Reads the conversation and whatever else the model is to be told; `None` if the turn was stopped.
async fn prepare_run<'t>(
    engine: &'t Engine,
    inbound: &'t Inbound,
    control: &'t RunControl,
    opened: Opened,
    prompt: Prompt,
) -> Result<Option<PreparedRun<'t>>, TurnError> {
    let opened = Arc::new(opened);
    // All of it is in files of its own: nothing waits for anything else.
    let (conversation, request) = tokio::join!(
        open_conversation(inbound, &opened, control),
        RunRequest::turn(engine, inbound, opened.clone(), prompt, control),
    );
    let Some(conversation) = conversation? else { return Ok(None) };
    let mut request = request?;
    if let Some(text) = remember(engine, inbound, &opened, &request.prompt, control, &conversation).await {
        request.prompt.text = text;
    }
    request.start_clock();
    Ok(Some(PreparedRun { request, conversation }))
}

/// Does everything that cannot be taken back; `None` if the turn was stopped before the model was asked.
async fn commit(
    engine: &Engine,
    inbound: &Inbound,
    control: &RunControl,
    prepared: Prepared<'_>,
    recorded: &Recorded,
) -> Result<Option<Taken>, TurnError> {
    let PreparedRun { mut request, mut conversation } = match prepared {
        Prepared::Reply(payloads) => {
            let report = TurnReport {
                is_replay: true,
                ..TurnReport::new(&inbound.turn, inbound.key(), Outcome::Answered)
            };
            // Whether it may be sent was decided before it was written down as ready.
            return Ok(Some(deliver_answer(engine, inbound, report, payloads, recorded).await?.into()));
        }
        Prepared::Opening(plan) => {
            let mut opened = plan.commit(engine, inbound, recorded).await?;
            refresh_skills(inbound, &mut opened, recorded).await?;
            if let Some(answer) = commands::answer(engine, inbound, &mut opened, control, recorded).await? {
                opened.touch(engine, recorded).await?;
                let report = opened.report(inbound);
                return Ok(Some(deliver_answer(engine, inbound, report, answer, recorded).await?.into()));
            }
            let notices = take_notices(engine, &opened.key, recorded);
            let Some(prompt) = compose_prompt(engine, inbound, &mut opened, &notices) else {
                let told = vec![prompt::nothing_said()];
                return Ok(Some(
                    deliver(engine, inbound, opened.report(inbound), told, recorded).await?.into(),
                ));
            };
            match prepare_run(engine, inbound, control, opened, prompt).await? {
                Some(run) => run,
                None => return Ok(None),
            }
        }
        Prepared::Run(run, _) => *run,
    };
    let opened = request.opened.clone();
    flush_if_due(inbound, &mut request, &mut conversation, recorded).await;
    let run = agent::run(request, &mut conversation, recorded).await?;
    let recording = Some(record_usage(engine, &opened, &run));
    let mut opened = Arc::unwrap_or_clone(opened);
    if !run.compactions.is_empty()
        && let Some(entry) = opened.home.sessions.get(&opened.key).await?
    {
        opened.entry = entry;
    }
    let report = opened.report_of(inbound, &run);
    let payloads = build_payloads(inbound, &opened, run);
    // A platform may take its time; a caller that waits for the answer is told before anything else is done.
    let conversation = (!inbound.reply_to.is_sent()).then_some(conversation);
    let report = deliver(engine, inbound, report, payloads, recorded).await?;
    Ok(Some(Taken { report, conversation, recording }))
}

/// Waits for the transcript, which somebody else may be writing; `None` if somebody stops the turn.
async fn open_conversation(
    inbound: &Inbound,
    opened: &Opened,
    control: &RunControl,
) -> Result<Option<Conversation>, TurnError> {
    tokio::select! {
        conversation = Conversation::open(opened) => conversation.map(Some),
        () = control.cancel.cancelled() => Ok(None),
        () = tokio::time::sleep(time_limit(inbound, &opened.config)) => Err(agent::timed_out().into()),
    }
}

/// Tells the sender what went wrong.
async fn fail(engine: &Engine, inbound: &Inbound, error: &TurnError, recorded: &Recorded) -> TurnReport {
    tracing::debug!(session = %inbound.key(), turn = %inbound.turn, %error, "turn failed");
    let entry = match engine.home(&inbound.target().agent) {
        Ok(home) => home.sessions.get(inbound.key()).await.ok().flatten(),
        Err(_) => None,
    };
    let failed = TurnReport {
        error: Some(error.to_string()),
        session_id: entry.and_then(|entry| entry.session_id().map(str::to_owned)),
        ..TurnReport::new(&inbound.turn, inbound.key(), Outcome::Failed)
    };
    let told = ReplyPayload { is_error: Some(true), ..ReplyPayload::from_text(format!("⚠️ {error}")) };
    match caught(deliver(engine, inbound, failed.clone(), vec![told.clone()], recorded)).await {
        Ok(Ok(report)) => report,
        Ok(Err(_)) | Err(_) => TurnReport { payloads: vec![told], ..failed },
    }
}

/// A model or a channel that panics ends its turn, and nothing else.
async fn caught<T>(step: impl Future<Output = T>) -> Result<T, TurnError> {
    AssertUnwindSafe(step).catch_unwind().await.map_err(|_| TurnError::Panicked)
}
