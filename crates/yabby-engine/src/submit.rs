//! Taking a message in: once, if it is for us, and so that it cannot be lost.

use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::sync::oneshot;
use yabby_domain::config::Config;
use yabby_domain::inbound::{InboundMessage, Rederive};
use yabby_domain::mention::ExplicitMention;
use yabby_domain::principal::{Principal, ReplyTo};
use yabby_domain::route::{Routes, Source};
use yabby_domain::seam::StoreError;
use yabby_domain::session::key::SessionKey;
use yabby_domain::text;
use yabby_domain::turn::{Accepted, Record, Step, TurnId, TurnOptions};

use crate::durability::Durable;
use crate::group::Attention;
use crate::hooks::{HookEvent, HookPoint};
use crate::inbound::{Inbound, Sender};
use crate::report::TurnReport;
use crate::steering::QueuedTurn;
use crate::{Engine, fresh_id, later_than};

/// A message, and everything known about it.
#[derive(Clone, Debug, Default)]
pub struct Submission {
    pub principal: Principal,
    pub reply_to: ReplyTo,
    /// As it came. A message that names its session goes there; any other is routed by where it came from.
    pub message: InboundMessage,
    /// Where on its platform it came from.
    pub origin: Option<Origin>,
    /// What the platform says about mentions.
    pub mention: ExplicitMention,
    /// It answers something that the agent said.
    pub answers_agent: bool,
    /// When it was written, in milliseconds since 1970.
    pub sent_at: Option<i64>,
    pub options: TurnOptions,
    /// The name of its turn, for a caller that wants to know it before anything happens; else it gets one.
    pub turn: Option<TurnId>,
    /// What a repetition of it is recognised by, where the message itself does not tell.
    pub dedupe: Option<String>,
}

/// A place on a platform, as routing rules know it.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    pub channel: String,
    pub account: String,
    pub peer: Option<yabby_domain::route::Peer>,
    pub parent_peer: Option<yabby_domain::route::Peer>,
    pub guild: String,
    pub team: String,
}

/// What became of a message.
pub enum SubmitOutcome {
    /// It is on record, and will be answered.
    Accepted(TurnHandle),
    /// It came before.
    Repeated,
    /// A group talks among itself; it is remembered as context.
    Overheard,
    /// The group is not one that the agent serves.
    NotServed,
}

/// A turn that was accepted, and the way to its report.
pub struct TurnHandle {
    pub turn: TurnId,
    /// What the run is called by the client that asked for it.
    pub run_id: Option<String>,
    pub session_key: SessionKey,
    pub done: oneshot::Receiver<TurnReport>,
}

impl Engine {
    /// Takes a message in. Once this answers that it was accepted, it will be answered, whatever happens.
    pub async fn submit(&self, submission: Submission) -> Result<SubmitOutcome, StoreError> {
        // A caller that stops waiting must not leave a message behind that is known and yet not on record:
        // delivered again, it would be taken for a repetition.
        let engine = self.clone();
        match tokio::spawn(async move { engine.submit_once(submission).await }).await {
            Ok(outcome) => outcome,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(StoreError::Closed { path: "the engine".to_owned() }),
            },
        }
    }

    async fn submit_once(&self, mut submission: Submission) -> Result<SubmitOutcome, StoreError> {
        let config = self.config();
        route(&mut submission, &config);
        submission.message.put_names_on_one_line();
        if submission.dedupe.is_none() {
            submission.dedupe = submission.message.dedupe_key();
        }
        let arrival = match &submission.dedupe {
            Some(key) => match self.0.arrivals.register(key).await {
                Some(arrival) => Some(arrival),
                None => return Ok(SubmitOutcome::Repeated),
            },
            None => None,
        };
        let outcome = self.accept(submission, &config).await;
        if let (Ok(_), Some(arrival)) = (&outcome, arrival) {
            arrival.confirm();
        }
        outcome
    }

    async fn accept(&self, submission: Submission, config: &Config) -> Result<SubmitOutcome, StoreError> {
        let Submission { principal, reply_to, mut message, options, .. } = submission;
        let accepted_at = self.not_before(self.now_ms());
        let sender = Sender::of(&principal, &message, config);
        let (mention, answers_agent) = (submission.mention, submission.answers_agent);
        match self.attention(&message, &sender, &principal, config, mention, answers_agent).await? {
            Attention::Answer => {}
            Attention::Listen => {
                let at = submission.sent_at.unwrap_or(accepted_at);
                self.overhear(&message, &sender.target, config, at);
                return Ok(SubmitOutcome::Overheard);
            }
            Attention::Ignore => return Ok(SubmitOutcome::NotServed),
        }
        let history = self.put_history_before(&mut message, &sender.target, config);
        let escaped = message.escaped_newlines();
        let accepted = Arc::new(Accepted {
            session_key: sender.target.key.as_str().to_owned(),
            principal,
            reply_to,
            message: message.finalize(Rederive::default(), escaped),
            options,
            dedupe: submission.dedupe,
        });
        let turn = submission.turn.unwrap_or_else(|| TurnId::new(fresh_id()));
        let (written, durable) = Durable::pending();
        let mut inbound = Inbound::new(turn, accepted_at, accepted.clone(), sender);
        (inbound.history, inbound.durable) = (history, durable);
        self.emit_received(&inbound);
        let step = Step::Accepted(accepted);
        let mut promise = pin!(self.0.log.promise(Record::new(&inbound.turn, accepted_at, step)));
        // It stands in the journal before anything that its turn notes there.
        let promised = promise.as_mut().now_or_never().transpose()?;
        let handle = self.send_to_lane(inbound);
        if promised.is_none() {
            promise.await?;
        }
        let _ = written.send(());
        Ok(SubmitOutcome::Accepted(handle))
    }

    /// A time from `at` on that no message has: a message is found again by the time of its acceptance.
    pub(crate) fn not_before(&self, at: i64) -> i64 {
        later_than(&self.0.last_accepted, at)
    }

    /// Hands a message that is on record, or about to be, to its lane.
    pub(crate) fn send_to_lane(&self, inbound: Inbound) -> TurnHandle {
        let (sender, done) = oneshot::channel();
        let handle = TurnHandle {
            turn: inbound.turn.clone(),
            run_id: inbound.options.run_id.clone(),
            session_key: inbound.key().clone(),
            done,
        };
        self.0.lanes.send(self, QueuedTurn { inbound, done: Some(sender) });
        handle
    }

    fn emit_received(&self, inbound: &Inbound) {
        if !self.0.hooks.has(HookPoint::MessageReceived) {
            return;
        }
        let message = &inbound.message;
        self.0.hooks.tell(HookEvent::MessageReceived {
            session_key: inbound.key().as_str().to_owned(),
            from: message.from.clone().unwrap_or_default(),
            content: message.raw_body.clone().or_else(|| message.body.clone()).unwrap_or_default(),
            timestamp: inbound.accepted_at,
        });
    }
}

/// Gives the message the key of its session, where routing knows one.
fn route(submission: &mut Submission, config: &Config) {
    let message = &mut submission.message;
    let named = message.session_key.as_deref().is_some_and(|key| text::non_blank(key).is_some());
    if let Some(from) = submission.origin.as_ref().filter(|_| !named) {
        let route = Routes::from_config(config).resolve(&Source {
            channel: &from.channel,
            account: &from.account,
            peer: from.peer.clone(),
            parent_peer: from.parent_peer.clone(),
            guild: &from.guild,
            team: &from.team,
        });
        message.session_key = Some(route.session_key.as_str().to_owned());
    }
}
