//! From a request to a turn of the engine: which session is meant, what is said there, and what becomes of it.

use std::sync::Arc;

use jiff::tz::TimeZone;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::inbound::InboundMessage;
use yabby_domain::json::Value;
use yabby_domain::message::Message;
use yabby_domain::message_stamp::stamped;
use yabby_domain::principal::{Principal, ReplyTo};
use yabby_domain::session::address::Address;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::send_policy::{SendDecision, SendPolicy, SendQuery};
use yabby_domain::text;
use yabby_domain::turn::{TurnId, TurnOptions};
use yabby_engine::services::{AppendError, WithoutTranscript};
use yabby_engine::{Submission, SubmitOutcome, TurnHandle};

use crate::Gateway;
use crate::frames::Refusal;
use crate::hub::Client;
use crate::runs::{self, Ending, Held, Run};
use crate::sessions::Looked;

/// Why nobody knows what became of a turn. What was accepted is taken up by the next start.
pub(crate) const INTERRUPTED: &str = "Error: the gateway is stopping";

/// The channel of those who talk to us directly.
pub(crate) const WEBCHAT: &str = "webchat";

/// A session that a request names.
pub(crate) struct Named {
    pub(crate) key: SessionKey,
    pub(crate) agent: AgentId,
    pub(crate) entry: Option<SessionEntry>,
}

impl Gateway {
    /// The session in which what is said under a key is answered. Nothing is opened for an agent that there is not:
    /// whoever may begin something there does that.
    pub(crate) async fn named(&self, named: &str) -> Result<Named, Refusal> {
        let Address { key, agent, .. } = self.address(named);
        let entry = match self.knows_agent(&agent) {
            true => self.engine.home(&agent)?.sessions.get(&key).await?,
            false => None,
        };
        Ok(Named { key, agent, entry })
    }

    /// The session of a key into which something is put, which may be an old one.
    pub(crate) async fn kept(&self, named: &str) -> Result<Named, Refusal> {
        let Looked { key, agent, session } = self.look(named).await?;
        Ok(Named { key, agent, entry: session.and_then(|session| session.entry) })
    }

    /// Whether replies of a session may be sent at all.
    pub(crate) fn check_send_policy(&self, named: &Named, config: &Config) -> Result<(), Refusal> {
        let query = SendQuery {
            entry: named.entry.as_ref(),
            key: Some(named.key.as_str()),
            channel: named.entry.as_ref().and_then(|entry| entry.channel()),
            chat_type: named.entry.as_ref().and_then(|entry| entry.chat_type()).map(|kind| kind.as_str()),
        };
        match SendPolicy::from_config(config).decide(&query) {
            SendDecision::Allow => Ok(()),
            SendDecision::Deny => Err(Refusal::invalid("send blocked by session policy")),
        }
    }
}

/// What is asked, by whom and how.
pub(crate) struct Question<'q> {
    pub(crate) run_id: &'q str,
    pub(crate) key: &'q SessionKey,
    /// The key as the client wrote it.
    pub(crate) told_key: &'q str,
    pub(crate) message: InboundMessage,
    pub(crate) options: TurnOptions,
    /// What a repetition is recognised by, also after a restart.
    pub(crate) dedupe: String,
}

/// A turn that was accepted, or one that was before.
pub(crate) enum Asked {
    /// What the run tells is held until whoever asked was told that it is accepted.
    Accepted(TurnHandle, Arc<Run>, Held),
    Repeated,
}

/// Hands a question to the engine. Once this comes back, it cannot be lost.
pub(crate) async fn ask(
    gateway: &Arc<Gateway>,
    client: &Client,
    question: Question<'_>,
) -> Result<Asked, Refusal> {
    let Question { run_id, key, told_key, message, options, dedupe } = question;
    let turn = TurnId::new(uuid::Uuid::new_v4().to_string());
    let watcher = client.about.takes_tool_events().then(|| client.id.clone());
    let (run, held) = gateway.runs.ask(run_id, &turn, key, told_key, watcher);
    let submission = Submission {
        principal: Principal::Client { scopes: client.scopes.clone(), device: client.device.clone() },
        reply_to: ReplyTo::Caller,
        message: InboundMessage { session_key: Some(key.as_str().to_owned()), ..message },
        options: TurnOptions { run_id: Some(run_id.to_owned()), ..options },
        turn: Some(turn),
        dedupe: Some(dedupe),
        ..Submission::default()
    };
    match gateway.engine.submit(submission).await {
        Ok(SubmitOutcome::Accepted(ticket)) => {
            gateway.runs.accepted(&run);
            // Somebody may have stopped it before there was a turn to stop.
            if run.is_silenced() {
                gateway.engine.abort_turn(key, &run.turn).await;
            }
            Ok(Asked::Accepted(ticket, run, held))
        }
        Ok(SubmitOutcome::Repeated) => {
            gateway.runs.forget(&run);
            Ok(Asked::Repeated)
        }
        Ok(SubmitOutcome::Overheard | SubmitOutcome::NotServed) => {
            gateway.runs.forget(&run);
            Err(Refusal::unavailable(format!("Error: {key} is a group that is not served")))
        }
        Err(error) => {
            gateway.runs.forget(&run);
            Err(error.into())
        }
    }
}

/// What somebody says directly. Commands are read without the time.
pub(crate) fn spoken(gateway: &Gateway, said: &str) -> InboundMessage {
    let config = gateway.config();
    let said = text::trim(&text::from_outside(said)).to_owned();
    InboundMessage {
        body: Some(stamped(&said, gateway.now(), &config, &TimeZone::system())),
        raw_body: Some(said.clone()),
        command_body: Some(said),
        command_authorized: true,
        ..InboundMessage::default()
    }
}

/// Puts a message that no model made at the end of a conversation, which it begins if nothing was said there yet; its id.
pub(crate) async fn say(gateway: &Gateway, named: &Named, message: &Message) -> Result<String, Refusal> {
    if named.entry.is_none() {
        return Err(AppendError::NoSession.into());
    }
    let cwd = gateway.engine.home(&named.agent)?.workspace.to_string_lossy().into_owned();
    append(gateway, named, message, WithoutTranscript::Begin { cwd }).await
}

/// The same, if there is a conversation.
pub(crate) async fn inject(gateway: &Gateway, named: &Named, message: &Message) -> Result<String, Refusal> {
    // Nothing is opened for an agent that there is not.
    if named.entry.is_none() {
        return Err(AppendError::NoSession.into());
    }
    append(gateway, named, message, WithoutTranscript::Refuse).await
}

async fn append(
    gateway: &Gateway,
    named: &Named,
    message: &Message,
    without: WithoutTranscript,
) -> Result<String, Refusal> {
    Ok(gateway.engine.append_message(&named.agent, &named.key, message.clone(), without).await?)
}

/// The value of a message.
pub(crate) fn value_of(message: &Message) -> Value {
    Value::Object(message.as_object().clone())
}

/// Tells the end of a run that nobody waits for. An answer that was complete before a restart may have been told
/// then: it is marked as a replay.
pub(crate) async fn see_off(gateway: Arc<Gateway>, ticket: TurnHandle, run: Arc<Run>) {
    let ending = match ticket.done.await {
        Ok(report) if report.is_replay => {
            let texts = report.payloads.iter().filter_map(|payload| payload.text.as_deref());
            let text = texts.collect::<Vec<_>>().join("\n\n");
            Ending::Replay((!text.is_empty()).then(|| runs::message(&text, gateway.now())))
        }
        Ok(report) => runs::ending_of(&report, None),
        Err(_) => Ending::Failed(INTERRUPTED.to_owned()),
    };
    gateway.runs.finish(&run, ending).await;
}
