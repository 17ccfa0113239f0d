//! Taking a message in: once, if it is for us, and so that it cannot be lost.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use tokio::sync::oneshot;
use yabby_domain::access::command_auth::{CommandAuthority, command_authority};
use yabby_domain::access::group_policy::{MentionOverride, group_policy};
use yabby_domain::access::mention_gate::{self, CommandInGroup};
use yabby_domain::access::session_owner::is_with_another;
use yabby_domain::channel::ChatType;
use yabby_domain::command::{Activation, is_control_message};
use yabby_domain::config::Config;
use yabby_domain::envelope::{Envelope, EnvelopeOptions};
use yabby_domain::history::{CURRENT_MESSAGE_MARKER, DEFAULT_GROUP_LIMIT, HistoryEntry, with_history};
use yabby_domain::inbound::{InboundMessage, Rederive};
use yabby_domain::mention::{ExplicitMention, Mentions, mention_patterns};
use yabby_domain::queue::followup::FollowupRoute;
use yabby_domain::route::{Routes, Source};
use yabby_domain::seam::StoreError;
use yabby_domain::seam::tool::Company;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::{Audience, KeyPolicy, PeerKind, SessionKey, group_history_key};
use yabby_domain::session::open::Target;
use yabby_domain::text;
use yabby_domain::turn::{Accepted, Progress, Record, Step, TurnId, TurnOptions};
use yabby_domain::untrusted;

use crate::hooks::{HookEvent, HookPoint};
use crate::report::TurnReport;
use crate::steering::Asked;
use crate::{Engine, fresh_id, unpoisoned};

/// What somebody heard.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// As it came. A message that names its session goes there; any other is routed by where it came from.
    pub message: InboundMessage,
    /// Where on its platform it came from.
    pub source: Option<HeardFrom>,
    /// What the platform says about mentions.
    pub mention: ExplicitMention,
    /// It answers something that the agent said.
    pub answers_agent: bool,
    /// When it was written, in milliseconds since 1970.
    pub sent_at: Option<i64>,
    pub options: TurnOptions,
    /// The name of its turn, for whoever wants to know it before anything happens; else it gets one.
    pub turn: Option<TurnId>,
    /// What a repetition of it is recognised by, where the message itself does not tell.
    pub dedupe: Option<String>,
}

/// A place on a platform, as routing rules know it.
#[derive(Clone, Debug, Default)]
pub struct HeardFrom {
    pub channel: String,
    pub account: String,
    pub peer: Option<yabby_domain::route::Peer>,
    pub parent_peer: Option<yabby_domain::route::Peer>,
    pub guild: String,
    pub team: String,
}

/// What became of a message.
pub enum Hearing {
    /// It is on record, and will be answered.
    Accepted(Ticket),
    /// It came before.
    Repeated,
    /// A group talks among itself; it is remembered as context.
    Overheard,
    /// The group is not one that the agent serves.
    NotServed,
}

/// The way to what becomes of a message that was accepted.
pub struct Ticket {
    pub turn: TurnId,
    /// What the run is called by whoever asked for it.
    pub run_id: Option<String>,
    pub session_key: SessionKey,
    pub done: oneshot::Receiver<TurnReport>,
}

/// A message that was accepted.
#[derive(Clone, Debug)]
pub(crate) struct Inbound {
    pub(crate) turn: TurnId,
    /// Also the `timestamp` of the question in the transcript.
    pub(crate) accepted_at: i64,
    pub(crate) message: InboundMessage,
    pub(crate) target: Target,
    pub(crate) options: TurnOptions,
    pub(crate) authority: CommandAuthority,
    pub(crate) words: Words,
    /// How far it came before the engine was stopped.
    pub(crate) resume: Option<Arc<Progress>>,
    /// It is dealt with while a run goes on in its session, which it leaves as it is.
    pub(crate) beside: bool,
    /// It answers for words of others than the owner, too.
    pub(crate) with_strangers: bool,
    /// Its session is a direct conversation with somebody who is not the owner.
    is_anothers: bool,
    /// What its group said before it, which it tells.
    told: Vec<HistoryEntry>,
    pub(crate) on_record: OnRecord,
}

/// Whether a message is on record. While it is being written down its turn gets ready, which changes nothing; whatever
/// could not be taken back waits for this.
#[derive(Clone, Debug, Default)]
pub(crate) struct OnRecord(Option<Shared<oneshot::Receiver<()>>>);

/// It could not be written down. Whoever sent it was told so, and nobody else hears of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message was not accepted, since it could not be written down")]
pub(crate) struct NotAccepted;

impl OnRecord {
    /// One that is on its way; it is on record when somebody says so, and never will be if nobody can any more.
    fn soon() -> (oneshot::Sender<()>, Self) {
        let (written, waiting) = oneshot::channel();
        (written, Self(Some(waiting.shared())))
    }

    /// Comes back when it is there.
    pub(crate) async fn reached(&self) -> Result<(), NotAccepted> {
        match self.0.clone() {
            Some(waiting) => waiting.await.map_err(|_| NotAccepted),
            None => Ok(()),
        }
    }
}

/// What is said to the agent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Words {
    /// What the message says.
    OfMessage,
    /// What messages that had to wait say together, and where the answer goes.
    Queued { prompt: String, route: FollowupRoute },
}

impl Inbound {
    pub(crate) fn key(&self) -> &SessionKey {
        &self.target.key
    }

    pub(crate) fn new(turn: TurnId, accepted_at: i64, accepted: Accepted, config: &Config) -> Self {
        let Accepted { message, options, .. } = accepted;
        let target = Target::of(&message, &KeyPolicy::from_config(config));
        Self {
            is_anothers: is_with_another(&target.key, config),
            target,
            authority: command_authority(&message, config, message.command_authorized),
            turn,
            accepted_at,
            message,
            options,
            words: Words::OfMessage,
            resume: None,
            beside: false,
            with_strangers: false,
            told: Vec::new(),
            on_record: OnRecord::default(),
        }
    }

    /// Whether the owner asks, alone or through an agent. Whoever sits at the machine is its owner.
    pub(crate) fn is_owner(&self) -> bool {
        let asks = match &self.options.behalf {
            Some(behalf) => behalf.is_owner,
            None => self.authority.is_trusted || self.options.to_caller,
        };
        asks && !self.with_strangers
    }

    /// Who hears what is said in its session, or what becomes of it elsewhere; `entry` is the session's record.
    ///
    /// What the owner says in somebody else's conversation, through the gateway or an agent, stands in that one's transcript
    /// and is told there: then the session decides, not who asks.
    pub(crate) fn company(&self, entry: Option<&SessionEntry>) -> Company {
        let goes_to_others = self.options.behalf.as_ref().is_some_and(|behalf| behalf.among_others);
        let comes_from_elsewhere = self.options.to_caller || self.options.behalf.is_some();
        let is_anothers = self.is_anothers && comes_from_elsewhere;
        match self.key().audience(entry.and_then(SessionEntry::chat_type).map(ChatType::as_str)) {
            Audience::Person if self.is_owner() && !goes_to_others && !is_anothers => Company::OwnerAlone,
            Audience::Person | Audience::Group => Company::Others,
        }
    }

    /// The text in which commands are looked for.
    pub(crate) fn command_text(&self) -> &str {
        match &self.words {
            Words::OfMessage => self.message.body_for_commands.as_deref().unwrap_or_default(),
            // These words were looked at when they came.
            Words::Queued { .. } => "",
        }
    }

    /// The channel that the answer goes to.
    pub(crate) fn channel(&self) -> Option<&str> {
        let message = &self.message;
        [&message.originating_channel, &message.surface, &message.provider]
            .into_iter()
            .flatten()
            .find_map(|name| text::non_blank(name))
    }

    /// The name under which the group's history is kept.
    pub(crate) fn history_key(&self) -> Option<String> {
        let group = self.target.group.as_ref()?;
        let kind = PeerKind::parse(group.chat_type.as_str());
        let account = self.message.account_id.as_deref().unwrap_or_default();
        Some(group_history_key(&group.channel, account, &kind, &group.id))
    }
}

impl Engine {
    /// Takes a message in. Once this answers that it was accepted, it will be answered, whatever happens.
    pub async fn hear(&self, heard: Heard) -> Result<Hearing, StoreError> {
        // Whoever stops waiting must not leave a message behind that is known and yet not on record:
        // delivered again, it would be taken for a repetition.
        let engine = self.clone();
        match tokio::spawn(async move { engine.take_in(heard).await }).await {
            Ok(hearing) => hearing,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(StoreError::Closed { path: "the engine".to_owned() }),
            },
        }
    }

    async fn take_in(&self, mut heard: Heard) -> Result<Hearing, StoreError> {
        let config = self.config();
        heard.message = routed(heard.message, heard.source.as_ref(), &config).with_names_on_one_line();
        let dedupe = heard.dedupe.take().or_else(|| heard.message.dedupe_key());
        let arrival = match &dedupe {
            Some(key) => match self.0.arrivals.register(key).await {
                Some(arrival) => Some(arrival),
                None => return Ok(Hearing::Repeated),
            },
            None => None,
        };
        let hearing = self.accept(heard, dedupe.clone(), &config).await;
        if let (Ok(_), Some(arrival)) = (&hearing, arrival) {
            arrival.confirm();
        }
        hearing
    }

    async fn accept(
        &self,
        heard: Heard,
        dedupe: Option<String>,
        config: &Config,
    ) -> Result<Hearing, StoreError> {
        let Heard { message, mention, answers_agent, sent_at, options, turn, .. } = heard;
        let (turn, accepted_at) = (turn.unwrap_or_else(|| TurnId::new(fresh_id())), self.accepted_at());
        let accepted = Accepted { message, options, ..Accepted::default() };
        let inbound = Inbound::new(turn, accepted_at, accepted, config);
        match self.attention(&inbound, config, mention, answers_agent).await? {
            Attention::Answer => {}
            Attention::Listen => {
                self.overhear(&inbound, config, sent_at.unwrap_or(accepted_at));
                return Ok(Hearing::Overheard);
            }
            Attention::Ignore => return Ok(Hearing::NotServed),
        }
        let (message, told) = self.with_history(&inbound, config);
        let escaped = message.escaped_newlines();
        let accepted = Accepted {
            session_key: inbound.key().as_str().to_owned(),
            message: message.finalize(Rederive::default(), escaped),
            options: inbound.options,
            dedupe,
        };
        let (written, on_record) = OnRecord::soon();
        let inbound = Inbound::new(inbound.turn, accepted_at, accepted.clone(), config);
        let inbound = Inbound { told, on_record, ..inbound };
        self.tell_received(&inbound);
        let step = Step::Accepted(Box::new(accepted));
        let mut promise = pin!(self.0.log.promise(Record::new(&inbound.turn, accepted_at, step)));
        // It stands in the journal before anything that its turn notes there.
        let promised = promise.as_mut().now_or_never().transpose()?;
        let ticket = self.send_to_lane(inbound);
        if promised.is_none() {
            promise.await?;
        }
        let _ = written.send(());
        Ok(Hearing::Accepted(ticket))
    }

    /// Now, but later than any other message: a message is found again by the time of its acceptance.
    fn accepted_at(&self) -> i64 {
        self.not_before(self.now_ms())
    }

    /// A time from `at` on that no message has.
    pub(crate) fn not_before(&self, at: i64) -> i64 {
        let later = |last: i64| Some(at.max(last.saturating_add(1)));
        let last = self.0.last_accepted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
        let last = last.unwrap_or_else(|last| last);
        at.max(last.saturating_add(1))
    }

    /// The agent was told what these messages tell of their groups.
    pub(crate) fn forget_told<'i>(&self, messages: impl IntoIterator<Item = &'i Inbound>) {
        let mut book = unpoisoned(&self.0.history);
        for inbound in messages {
            if let Some(key) = inbound.history_key() {
                book.forget(&key, &inbound.told);
            }
        }
    }

    /// Hands a message that is on record, or about to be, to its lane.
    pub(crate) fn send_to_lane(&self, inbound: Inbound) -> Ticket {
        let (sender, done) = oneshot::channel();
        let ticket = Ticket {
            turn: inbound.turn.clone(),
            run_id: inbound.options.run_id.clone(),
            session_key: inbound.key().clone(),
            done,
        };
        self.0.lanes.send(self, Asked { inbound, done: Some(sender) });
        ticket
    }

    /// Whether the agent answers.
    async fn attention(
        &self,
        inbound: &Inbound,
        config: &Config,
        told: ExplicitMention,
        answers_agent: bool,
    ) -> Result<Attention, StoreError> {
        let Some(group) = inbound.target.group.as_ref().filter(|_| inbound.target.is_group) else {
            return Ok(Attention::Answer);
        };
        let message = &inbound.message;
        let policy = group_policy(config, &group.channel, message.account_id.as_deref(), Some(&group.id));
        if !policy.allowed {
            return Ok(Attention::Ignore);
        }
        let entry = self.home(&inbound.target.agent)?.sessions.get(inbound.key()).await?;
        let activation =
            entry.as_ref().and_then(|entry| entry.group_activation()).and_then(Activation::parse);
        let wish = match activation {
            Some(Activation::Always) => MentionOverride::BeforeConfig(false),
            Some(Activation::Mention) => MentionOverride::BeforeConfig(true),
            None => MentionOverride::None,
        };
        let patterns = mention_patterns(config, Some(&inbound.target.agent));
        let body = message.raw_body.as_deref().or(message.body.as_deref()).unwrap_or_default();
        // An agent that says something here says it to this one, and to nobody else.
        let for_an_agent = inbound.options.behalf.is_some();
        let mentions = mention_gate::Mentions {
            required: policy.requires_mention(wish) && !for_an_agent,
            detectable: told.reliable || !patterns.is_empty(),
            mentioned: Mentions::new(&patterns).occur_in_or_told(body, told),
            implicit: answers_agent,
        };
        let command = CommandInGroup {
            is_group: true,
            anyone_mentioned: told.of_anyone,
            text_commands_allowed: config.commands.text(),
            is_control_command: is_control_message(inbound.command_text_or(body), config, None),
            authorized: inbound.authority.is_authorized,
        };
        let verdict = mention_gate::gate_with_commands(mentions, command);
        Ok(if verdict.skip { Attention::Listen } else { Attention::Answer })
    }

    /// Remembers what a group says among itself.
    fn overhear(&self, inbound: &Inbound, config: &Config, at: i64) {
        let Some(key) = inbound.history_key() else { return };
        let message = &inbound.message;
        let body = message.raw_body.as_deref().or(message.body.as_deref()).unwrap_or_default();
        let entry = HistoryEntry {
            sender: message.sender().label().unwrap_or_else(|| "unknown".to_owned()),
            body: body.to_owned(),
            #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
            timestamp: Some(at as f64),
            message_id: message.message_id.clone(),
        };
        unpoisoned(&self.0.history).append(&key, entry, history_limit(config));
    }

    /// The message behind what its group said since the last reply, and what that was.
    fn with_history(&self, inbound: &Inbound, config: &Config) -> (InboundMessage, Vec<HistoryEntry>) {
        let mut message = inbound.message.clone();
        let Some((key, group)) = inbound.history_key().zip(inbound.target.group.as_ref()) else {
            return (message, Vec::new());
        };
        let pending = unpoisoned(&self.0.history).pending(&key, history_limit(config)).to_vec();
        if pending.is_empty() {
            return (message, pending);
        }
        let said = message.body.clone().unwrap_or_default();
        let options = EnvelopeOptions::from_config(config);
        let line = |entry: &HistoryEntry| {
            // Nobody else says which message is the current one.
            let body = entry.body.replace(CURRENT_MESSAGE_MARKER, "(a mark was here)");
            let body = format!("{}: {body}", entry.sender);
            #[expect(clippy::cast_possible_truncation, reason = "it was a whole number of milliseconds")]
            let timestamp = entry.timestamp.map(|at| at as i64);
            let from = Some(group.id.as_str());
            let envelope =
                Envelope { channel: &group.channel, from, timestamp, body: &body, ..Envelope::default() };
            envelope.format(&options, &self.0.zone)
        };
        // Commands are read without the others' words.
        message.raw_body.get_or_insert_with(|| said.clone());
        message.command_body.get_or_insert_with(|| said.clone());
        // Signed before the others' words: their names must not pass for the sender's.
        let signed = message.signed(&said);
        let others: Vec<String> = pending.iter().map(line).collect();
        let others = untrusted::fence("other messages of the group", &others.join("\n"));
        message.body = Some(with_history(&others, &signed, "\n"));
        (message, pending)
    }

    fn tell_received(&self, inbound: &Inbound) {
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

impl Inbound {
    fn command_text_or<'t>(&'t self, body: &'t str) -> &'t str {
        self.message.command_body.as_deref().unwrap_or(body)
    }
}

enum Attention {
    Answer,
    Listen,
    Ignore,
}

/// How much of a group's talk is remembered.
fn history_limit(config: &Config) -> usize {
    let asked = config.messages.group_chat.history_limit.map(f64::from).filter(|limit| *limit >= 0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and saturates"
    )]
    asked.map_or(DEFAULT_GROUP_LIMIT, |limit| limit as usize)
}

/// The message with the key of its session, where routing knows one.
fn routed(mut message: InboundMessage, source: Option<&HeardFrom>, config: &Config) -> InboundMessage {
    let named = message.session_key.as_deref().is_some_and(|key| text::non_blank(key).is_some());
    if let Some(from) = source.filter(|_| !named) {
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
    message
}
