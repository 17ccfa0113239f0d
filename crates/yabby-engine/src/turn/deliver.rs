//! Sending the reply, once (`sessions.md` §8, §16, §17).
//!
//! Every message is on record before it is sent and after it was. Whether one that was about to be sent
//! when the engine was stopped has arrived, only the platform knows: it is sent again where the platform
//! recognises it, and otherwise it is left at that, and the session is told.

use std::sync::Arc;
use std::time::Duration;

use yabby_domain::config::Config;
use yabby_domain::delivery::DeliveryContext;
use yabby_domain::reply::deliverable::{DeliveryOptions, deliverable};
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::seam::StoreError;
use yabby_domain::seam::channel::{Action, Channel, ChannelError, Outgoing};
use yabby_domain::seam::tool::Company;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::send_policy::{SendDecision, SendPolicy, SendQuery};
use yabby_domain::turn::{DeliveryState, Step};

use super::TurnError;
use crate::Engine;
use crate::durability::Recorded;
use crate::events::EventKind;
use crate::hooks::{HookEvent, HookPoint};
use crate::inbound::Inbound;
use crate::lane::address;
use crate::report::TurnReport;

/// How long to wait before a message that was not sent is tried again.
const PAUSES: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(5)];

/// How long a platform may take to take a message.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Delivers the payloads of a turn, and reports them.
pub(crate) async fn deliver(
    engine: &Engine,
    inbound: &Inbound,
    report: TurnReport,
    payloads: Vec<ReplyPayload>,
    recorded: &Recorded,
) -> Result<TurnReport, TurnError> {
    deliver_under(engine, inbound, report, payloads, Policy::OfSession, recorded).await
}

/// Delivers what the program itself says to somebody who gave it a command: also where the agent's
/// replies are not sent, or nobody could ask for them again.
pub(crate) async fn deliver_answer(
    engine: &Engine,
    inbound: &Inbound,
    report: TurnReport,
    payloads: Vec<ReplyPayload>,
    recorded: &Recorded,
) -> Result<TurnReport, TurnError> {
    deliver_under(engine, inbound, report, payloads, Policy::Always, recorded).await
}

/// What decides whether something is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    OfSession,
    Always,
}

async fn deliver_under(
    engine: &Engine,
    inbound: &Inbound,
    report: TurnReport,
    payloads: Vec<ReplyPayload>,
    policy: Policy,
    _recorded: &Recorded,
) -> Result<TurnReport, TurnError> {
    let config = engine.config();
    let shape = |payload| match inbound.options.alone {
        // Nothing is added to what was said, and nothing that was said is left out.
        true => deliverable(payload, &DeliveryOptions { strip_heartbeat: false, ..Default::default() }).ok(),
        false => shaped(payload, &config),
    };
    let payloads: Vec<ReplyPayload> = payloads.into_iter().filter_map(shape).collect();
    if payloads.is_empty() || !inbound.reply_to.is_sent() {
        return Ok(TurnReport { payloads, ..report });
    }
    let entry = match engine.home(&inbound.target().agent) {
        Ok(home) => home.sessions.get(inbound.key()).await.ok().flatten(),
        Err(_) => None,
    };
    let outbox = match policy {
        Policy::OfSession => Outbox::of(engine, inbound, entry.as_ref(), &config),
        Policy::Always => Outbox::to_sender(engine, inbound, entry.as_ref()),
    };
    if let Some(outbox) = outbox {
        engine.0.log.note(&inbound.turn, [Step::Ready { payloads: payloads.clone() }]).await?;
        for (number, payload) in payloads.iter().enumerate() {
            let delivery = inbound.turn.delivery(number);
            if !may_be_sent(engine, inbound, &delivery, &outbox, payload) {
                continue;
            }
            let start = beginning(payload);
            match outbox.send(engine, inbound, &delivery, payload, None).await {
                Fate::Sent | Fate::Cancelled => {}
                Fate::InDoubt(why) => engine
                    .notice(inbound.key(), &format!("A reply may not have been delivered ({why}): {start}")),
                Fate::Failed(why) => {
                    engine.notice(inbound.key(), &format!("A reply was not delivered ({why}): {start}"));
                }
                Fate::Unrecorded(error) => return Err(error.into()),
            }
        }
    } else {
        for payload in &payloads {
            engine.tell(inbound.key(), Some(&inbound.turn), EventKind::Said(payload.clone()));
        }
    }
    Ok(TurnReport { payloads, ..report })
}

/// A payload as it is sent, if there is anything to send.
pub(crate) fn shaped(payload: ReplyPayload, config: &Config) -> Option<ReplyPayload> {
    let prefix = config.messages.response_prefix.as_deref().filter(|prefix| *prefix != "auto");
    deliverable(payload, &DeliveryOptions { prefix, ..DeliveryOptions::default() }).ok()
}

/// Enough of a message to recognise it.
fn beginning(payload: &ReplyPayload) -> String {
    payload.text.as_deref().unwrap_or_default().chars().take(80).collect()
}

/// Whether a message is still to be sent.
fn may_be_sent(
    engine: &Engine,
    inbound: &Inbound,
    delivery: &str,
    outbox: &Outbox,
    payload: &ReplyPayload,
) -> bool {
    let before = inbound.resume.as_ref().and_then(|progress| progress.deliveries.get(delivery));
    match before {
        None => true,
        Some(DeliveryState::Done) => false,
        Some(DeliveryState::InDoubt) if outbox.channel.capabilities().knows_deliveries => true,
        Some(DeliveryState::InDoubt) => {
            let start = beginning(payload);
            engine.notice(
                inbound.key(),
                &format!(
                    "The program was stopped while a reply was being sent; it may not have arrived: {start}"
                ),
            );
            false
        }
    }
}

/// What became of a message.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    Sent,
    /// A hook wanted it so.
    Cancelled,
    /// Nobody knows whether it arrived.
    InDoubt(String),
    Failed(String),
    /// It was not sent, since that could not be recorded: nobody could tell later whether it was.
    Unrecorded(StoreError),
}

/// Where the replies of a turn go.
pub(crate) struct Outbox {
    channel: Arc<dyn Channel>,
    to: DeliveryContext,
    company: Company,
}

impl Outbox {
    /// `None` if they go to nobody but the caller, or must not be sent.
    pub(crate) fn of(
        engine: &Engine,
        inbound: &Inbound,
        entry: Option<&SessionEntry>,
        config: &Config,
    ) -> Option<Self> {
        let outbox = Self::to_sender(engine, inbound, entry)?;
        let query = SendQuery {
            entry,
            key: Some(inbound.key().as_str()),
            channel: outbox.to.channel.as_deref(),
            chat_type: inbound.message.chat_type.as_deref(),
        };
        let allowed = SendPolicy::from_config(config).decide(&query) == SendDecision::Allow;
        allowed.then_some(outbox)
    }

    /// The same, whether or not replies are sent.
    fn to_sender(engine: &Engine, inbound: &Inbound, entry: Option<&SessionEntry>) -> Option<Self> {
        if !inbound.reply_to.is_sent() {
            return None;
        }
        let to = address(inbound).or_else(|| entry.and_then(SessionEntry::delivery))?;
        let channel = engine.channel(to.channel.as_deref()?)?.clone();
        Some(Self { channel, to, company: inbound.company(entry) })
    }

    pub(crate) fn likes_blocks(&self) -> bool {
        self.channel.capabilities().likes_blocks
    }

    /// Sends a message, unless a hook objects. `block` is the piece of an answer that it consists of, as
    /// the model said it: nobody else writes down what it was.
    pub(crate) async fn send(
        &self,
        engine: &Engine,
        inbound: &Inbound,
        delivery: &str,
        payload: &ReplyPayload,
        block: Option<&ReplyPayload>,
    ) -> Fate {
        let to = self.to.to.clone().unwrap_or_default();
        let mut payload = match self.company {
            Company::OwnerAlone => payload.clone(),
            Company::Others | Company::OthersNoted => payload.clone().for_others(),
        };
        let text = payload.text.clone().unwrap_or_default();
        if engine.0.hooks.has(HookPoint::MessageSending) {
            match engine.0.hooks.sending(inbound.key().as_str(), &to, text).await {
                Some(text) => payload.text = Some(text).filter(|text| !text.is_empty()),
                None => return Fate::Cancelled,
            }
        }
        let step = Step::Sending { delivery: delivery.to_owned(), block: block.cloned() };
        if let Err(error) = engine.0.log.note(&inbound.turn, [step]).await {
            self.failed(engine, inbound, &payload, &to, &error.to_string());
            return Fate::Unrecorded(error);
        }
        match self.attempt(delivery, &payload).await {
            Ok(message_id) => {
                let step = Step::Delivered { delivery: delivery.to_owned(), message_id };
                if let Err(error) = engine.0.log.note(&inbound.turn, [step]).await {
                    tracing::warn!(%error, "a delivery was not written down");
                }
                engine.tell(
                    inbound.key(),
                    Some(&inbound.turn),
                    EventKind::Delivered { payload: payload.clone() },
                );
                self.tell_sent(engine, inbound, &payload, &to, None);
                Fate::Sent
            }
            Err(error) => {
                self.failed(engine, inbound, &payload, &to, &error.to_string());
                match error {
                    ChannelError::InDoubt(why) => Fate::InDoubt(why),
                    ChannelError::NotSent(why) | ChannelError::Refused(why) => Fate::Failed(why),
                }
            }
        }
    }

    async fn attempt(&self, delivery: &str, payload: &ReplyPayload) -> Result<Option<String>, ChannelError> {
        let outgoing =
            Outgoing { to: self.to.clone(), payload: payload.clone(), delivery: delivery.to_owned() };
        for pause in PAUSES {
            match self.perform(outgoing.clone()).await {
                Err(ChannelError::NotSent(_)) => tokio::time::sleep(pause).await,
                done => return done,
            }
        }
        self.perform(outgoing).await
    }

    async fn perform(&self, outgoing: Outgoing) -> Result<Option<String>, ChannelError> {
        let sending = self.channel.perform(Action::Send(outgoing));
        tokio::time::timeout(TIME_LIMIT, sending).await.unwrap_or_else(|_| {
            let waited = TIME_LIMIT.as_secs();
            Err(ChannelError::InDoubt(format!("the platform did not answer within {waited} seconds")))
        })
    }

    fn failed(&self, engine: &Engine, inbound: &Inbound, payload: &ReplyPayload, to: &str, why: &str) {
        tracing::warn!(session = %inbound.key(), why, "a reply was not sent");
        let kind = EventKind::NotDelivered { payload: payload.clone(), why: why.to_owned() };
        engine.tell(inbound.key(), Some(&inbound.turn), kind);
        self.tell_sent(engine, inbound, payload, to, Some(why));
    }

    fn tell_sent(
        &self,
        engine: &Engine,
        inbound: &Inbound,
        payload: &ReplyPayload,
        to: &str,
        error: Option<&str>,
    ) {
        if engine.0.hooks.has(HookPoint::MessageSent) {
            engine.0.hooks.tell(HookEvent::MessageSent {
                session_key: inbound.key().as_str().to_owned(),
                to: to.to_owned(),
                content: payload.text.clone().unwrap_or_default(),
                success: error.is_none(),
                error: error.map(str::to_owned),
            });
        }
    }
}
