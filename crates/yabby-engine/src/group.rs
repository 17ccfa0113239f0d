//! Whether a message in a group is answered, and what the group said before it (`sessions.md` §13).

use std::sync::Arc;

use yabby_domain::access::group_policy::{MentionOverride, group_policy};
use yabby_domain::access::mention_gate::{self, CommandInGroup};
use yabby_domain::command::{Activation, is_control_message};
use yabby_domain::config::Config;
use yabby_domain::envelope::{Envelope, EnvelopeOptions};
use yabby_domain::history::{CURRENT_MESSAGE_MARKER, DEFAULT_GROUP_LIMIT, HistoryEntry, with_history};
use yabby_domain::inbound::InboundMessage;
use yabby_domain::mention::{ExplicitMention, Mentions, mention_patterns};
use yabby_domain::principal::Principal;
use yabby_domain::seam::StoreError;
use yabby_domain::session::key::{PeerKind, group_history_key};
use yabby_domain::session::open::Target;
use yabby_domain::untrusted;

use crate::inbound::{Inbound, Sender};
use crate::{Engine, unpoisoned};

/// What is done with a message.
pub(crate) enum Attention {
    Answer,
    Listen,
    Ignore,
}

impl Engine {
    /// Whether the agent answers. The platform says what is mentioned (`explicit`), and whether the message answers something
    /// that the agent said.
    pub(crate) async fn attention(
        &self,
        message: &InboundMessage,
        sender: &Sender,
        principal: &Principal,
        config: &Config,
        explicit: ExplicitMention,
        answers_agent: bool,
    ) -> Result<Attention, StoreError> {
        let target = &sender.target;
        let Some(group) = target.group.as_ref().filter(|_| target.is_group) else {
            return Ok(Attention::Answer);
        };
        let policy = group_policy(config, &group.channel, message.account_id.as_deref(), Some(&group.id));
        if !policy.allowed {
            return Ok(Attention::Ignore);
        }
        let entry = self.home(&target.agent)?.sessions.get(&target.key).await?;
        let activation =
            entry.as_ref().and_then(|entry| entry.group_activation()).and_then(Activation::parse);
        let wish = match activation {
            Some(Activation::Always) => MentionOverride::BeforeConfig(false),
            Some(Activation::Mention) => MentionOverride::BeforeConfig(true),
            None => MentionOverride::None,
        };
        let patterns = mention_patterns(config, Some(&target.agent));
        let body = message.raw_body.as_deref().or(message.body.as_deref()).unwrap_or_default();
        let mentions = mention_gate::Mentions {
            // An agent that says something here says it to this one.
            required: policy.requires_mention(wish) && !principal.is_agent(),
            detectable: explicit.reliable || !patterns.is_empty(),
            mentioned: Mentions::new(&patterns).occur_in_or_told(body, explicit),
            implicit: answers_agent,
        };
        let command_text = message.command_body.as_deref().unwrap_or(body);
        let command = CommandInGroup {
            is_group: true,
            anyone_mentioned: explicit.of_anyone,
            text_commands_allowed: config.commands.text(),
            is_control_command: is_control_message(command_text, config, None),
            authorized: sender.authority.is_authorized,
        };
        let verdict = mention_gate::gate_with_commands(mentions, command);
        Ok(if verdict.skip { Attention::Listen } else { Attention::Answer })
    }

    /// Remembers what a group says among itself.
    pub(crate) fn overhear(&self, message: &InboundMessage, target: &Target, config: &Config, at: i64) {
        let Some(key) = history_key(message, target) else { return };
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

    /// Puts what a group said since the last reply before a message; what that was.
    pub(crate) fn put_history_before(
        &self,
        message: &mut InboundMessage,
        target: &Target,
        config: &Config,
    ) -> Arc<[HistoryEntry]> {
        let Some((key, group)) = history_key(message, target).zip(target.group.as_ref()) else {
            return Arc::default();
        };
        let pending: Arc<[HistoryEntry]> =
            unpoisoned(&self.0.history).pending(&key, history_limit(config)).into();
        if pending.is_empty() {
            return pending;
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
        pending
    }

    /// Forgets the group history that these messages have brought to the agent.
    pub(crate) fn forget_history<'i>(&self, messages: impl IntoIterator<Item = &'i Inbound>) {
        let mut book = unpoisoned(&self.0.history);
        for inbound in messages {
            if let Some(key) = history_key(&inbound.message, inbound.target()) {
                book.forget(&key, &inbound.history);
            }
        }
    }
}

/// The name under which a group's history is kept.
fn history_key(message: &InboundMessage, target: &Target) -> Option<String> {
    let group = target.group.as_ref()?;
    let kind = PeerKind::parse(group.chat_type.as_str());
    let account = message.account_id.as_deref().unwrap_or_default();
    Some(group_history_key(&group.channel, account, &kind, &group.id))
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
