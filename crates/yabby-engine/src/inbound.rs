//! A message that was accepted, as its turn sees it.

use std::ops::Deref;
use std::sync::Arc;

use yabby_domain::access::command_auth::{CommandAuthority, command_authority};
use yabby_domain::access::session_owner::is_with_another;
use yabby_domain::channel::ChatType;
use yabby_domain::config::Config;
use yabby_domain::history::HistoryEntry;
use yabby_domain::inbound::InboundMessage;
use yabby_domain::principal::Principal;
use yabby_domain::queue::followup::FollowupRoute;
use yabby_domain::seam::tool::Company;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::{Audience, KeyPolicy, SessionKey};
use yabby_domain::session::open::Target;
use yabby_domain::text;
use yabby_domain::turn::{Accepted, Progress, ShownPicture, TurnId};

use crate::durability::Durable;

/// A message that was accepted, and how its turn takes it. Copies share the message.
#[derive(Clone, Debug)]
pub(crate) struct Inbound {
    pub(crate) turn: TurnId,
    /// Also the `timestamp` of the question in the transcript.
    pub(crate) accepted_at: i64,
    accepted: Arc<Accepted>,
    sender: Arc<Sender>,
    pub(crate) prompt: PromptSource,
    /// How far it came before the engine was stopped.
    pub(crate) resume: Option<Arc<Progress>>,
    /// It is dealt with while a run goes on in its session, which it leaves as it is.
    pub(crate) concurrent: bool,
    /// It answers for words of others than the owner, too.
    pub(crate) with_strangers: bool,
    /// What its group said before it, which it tells.
    pub(crate) history: Arc<[HistoryEntry]>,
    pub(crate) durable: Durable,
}

/// What the configuration says of a message: its session, and the rights of its sender.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) target: Target,
    pub(crate) authority: CommandAuthority,
    is_owner: bool,
    /// The session is a direct conversation with a person who is not the owner.
    is_in_foreign_session: bool,
}

/// What the agent is asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PromptSource {
    /// What the message says.
    Message,
    /// What messages that had to wait say together, and where the answer goes.
    Queued { prompt: String, pictures: Arc<[ShownPicture]>, route: FollowupRoute },
}

impl Sender {
    pub(crate) fn of(principal: &Principal, message: &InboundMessage, config: &Config) -> Self {
        let target = Target::of(message, &KeyPolicy::from_config(config));
        let authority = command_authority(message, config, message.command_authorized);
        Self {
            is_owner: principal.is_owner(&authority, config),
            is_in_foreign_session: is_with_another(&target.key, config),
            target,
            authority,
        }
    }
}

impl Deref for Inbound {
    type Target = Accepted;

    fn deref(&self) -> &Accepted {
        &self.accepted
    }
}

impl Inbound {
    pub(crate) fn new(turn: TurnId, accepted_at: i64, accepted: Arc<Accepted>, sender: Sender) -> Self {
        Self {
            turn,
            accepted_at,
            accepted,
            sender: Arc::new(sender),
            prompt: PromptSource::Message,
            resume: None,
            concurrent: false,
            with_strangers: false,
            history: Arc::default(),
            durable: Durable::default(),
        }
    }

    /// A message that was read from the journal.
    pub(crate) fn from_journal(turn: TurnId, progress: &Progress, config: &Config) -> Self {
        let accepted = progress.accepted.clone();
        let sender = Sender::of(&accepted.principal, &accepted.message, config);
        Self::new(turn, progress.accepted_at, accepted, sender)
    }

    pub(crate) fn target(&self) -> &Target {
        &self.sender.target
    }

    pub(crate) fn key(&self) -> &SessionKey {
        &self.sender.target.key
    }

    pub(crate) fn authority(&self) -> &CommandAuthority {
        &self.sender.authority
    }

    /// Whether the owner asks, and nobody else with them.
    pub(crate) fn is_owner(&self) -> bool {
        self.sender.is_owner && !self.with_strangers
    }

    /// Who hears what is said in its session, or what becomes of it elsewhere; `entry` is the session's record.
    ///
    /// What the owner says in another person's conversation, through the gateway or an agent, stands in that one's
    /// transcript and is told there: then the session decides, not who asks.
    pub(crate) fn company(&self, entry: Option<&SessionEntry>) -> Company {
        let goes_to_others = self.principal.on_behalf_of().is_some_and(|behalf| behalf.among_others);
        let is_in_foreign_session = self.sender.is_in_foreign_session && !self.principal.is_peer();
        match self.key().audience(entry.and_then(SessionEntry::chat_type).map(ChatType::as_str)) {
            Audience::Person if self.is_owner() && !goes_to_others && !is_in_foreign_session => {
                Company::OwnerAlone
            }
            Audience::Person | Audience::Group => Company::Others,
        }
    }

    /// Whether its text may look like the program's own words: the owner at a machine or a client may write what they
    /// like, others may not.
    pub(crate) fn is_verbatim(&self) -> bool {
        matches!(self.principal, Principal::LocalOwner | Principal::Client { .. }) && self.is_owner()
    }

    /// The text in which commands are looked for.
    pub(crate) fn command_text(&self) -> &str {
        match &self.prompt {
            PromptSource::Message => self.message.body_for_commands.as_deref().unwrap_or_default(),
            // These words were looked at when they came.
            PromptSource::Queued { .. } => "",
        }
    }

    /// What is shown beside the words.
    pub(crate) fn pictures(&self) -> &[ShownPicture] {
        match &self.prompt {
            PromptSource::Message => &self.options.pictures,
            PromptSource::Queued { pictures, .. } => pictures,
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
}
