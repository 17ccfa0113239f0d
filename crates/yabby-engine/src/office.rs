//! What the engine does for the tools of a run.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use yabby_domain::delivery::DeliveryContext;
use yabby_domain::id::AgentId;
use yabby_domain::inbound::InboundMessage;
use yabby_domain::json::Value;
use yabby_domain::principal::{OnBehalfOf, Principal, ReplyTo};
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::seam::channel::{Action, Outgoing};
use yabby_domain::seam::office::{Conversations, Decision, Letter, Office, Question, Spawned, Task, Told};
use yabby_domain::seam::tool::Company;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::send_policy::{SendDecision, SendPolicy, SendQuery};
use yabby_domain::turn::{LaneClass, Outcome, TurnOptions};

use crate::agent::RunRequest;
use crate::report::TurnReport;
use crate::submit::{Submission, SubmitOutcome, TurnHandle};
use crate::turn::deliver::TIME_LIMIT;
use crate::{Engine, Inner};

/// Where the tools of a session ask. It does not keep the engine alive: a command in the background must not.
pub(crate) struct SessionOffice {
    engine: Weak<Inner>,
    session: SessionKey,
    agent: AgentId,
    is_owner: bool,
    company: Company,
    address: Option<DeliveryContext>,
    /// What a message that the call sends is called, however often it is tried.
    delivery: String,
}

impl SessionOffice {
    pub(crate) fn new(request: &RunRequest<'_>, call: &str) -> Self {
        Self {
            engine: Arc::downgrade(&request.engine.0),
            session: request.opened.key.clone(),
            agent: request.agent.clone(),
            is_owner: request.sender_is_owner,
            company: request.company(),
            address: request.address.clone(),
            delivery: format!("{}:tool:{call}", request.turn),
        }
    }

    fn engine(&self) -> Result<Engine, String> {
        self.engine.upgrade().map(Engine).ok_or_else(|| "the program is being stopped".to_owned())
    }

    fn on_behalf_of(&self) -> OnBehalfOf {
        OnBehalfOf {
            session: self.session.as_str().to_owned(),
            is_owner: self.is_owner,
            among_others: self.company != Company::OwnerAlone,
        }
    }
}

#[async_trait]
impl Office for SessionOffice {
    async fn send(&self, letter: Letter) -> Result<Option<String>, String> {
        let engine = self.engine()?;
        let Some(name) = letter.to.channel.clone() else {
            return Err("no channel is named, and this conversation has none".to_owned());
        };
        let Some(channel) = engine.channel(&name).cloned() else {
            let known: Vec<&str> = engine.0.channels.iter().map(|channel| channel.id()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(format!("there is no channel {name} here (connected: {known})"));
        };
        let entry = match engine.home(&self.agent) {
            Ok(home) => home.sessions.get(&self.session).await.ok().flatten(),
            Err(_) => None,
        };
        let query = SendQuery {
            entry: entry.as_ref(),
            key: Some(self.session.as_str()),
            channel: Some(&name),
            chat_type: None,
        };
        if SendPolicy::from_config(&engine.config()).decide(&query) != SendDecision::Allow {
            return Err(format!("sending to {name} from here is switched off (session.sendPolicy, /send)"));
        }
        let payload = ReplyPayload {
            media_url: letter.media,
            reply_to_id: letter.reply_to,
            ..ReplyPayload::from_text(letter.text)
        };
        let outgoing = Outgoing { to: letter.to, payload, delivery: self.delivery.clone() };
        let sending = channel.perform(Action::Send(outgoing));
        match tokio::time::timeout(TIME_LIMIT, sending).await {
            Ok(sent) => sent.map_err(|error| error.to_string()),
            Err(_) => Err("the platform did not answer in time; the message may have been sent".to_owned()),
        }
    }

    async fn tell(&self, session: &SessionKey, words: &str, wait: Duration) -> Result<Told, String> {
        let engine = self.engine()?;
        if *session == self.session {
            return Err("that is this very conversation".to_owned());
        }
        let context = format!(
            "The next message comes from another agent session ({}), not from a person. Answer it; what you say goes back there.",
            self.session
        );
        let options = TurnOptions {
            lane: LaneClass::Nested,
            extra_system_prompt: Some(context),
            ..TurnOptions::default()
        };
        let ticket =
            engine.ask_session(session, words, self.on_behalf_of(), ReplyTo::Caller, options).await?;
        let run = ticket.turn.as_str().to_owned();
        if wait.is_zero() {
            return Ok(Told::Accepted { run });
        }
        match tokio::time::timeout(wait, ticket.done).await {
            Ok(Ok(report)) => Ok(match report.outcome {
                Outcome::Failed => Told::Failed { run, error: report.error.unwrap_or_default() },
                Outcome::Aborted | Outcome::Dropped => {
                    Told::Failed { run, error: "it was stopped".to_owned() }
                }
                Outcome::Answered | Outcome::Joined => Told::Answered { run, reply: said(&report) },
            }),
            Ok(Err(_)) => Err("the program is being stopped".to_owned()),
            Err(_) => Ok(Told::TimedOut { run }),
        }
    }

    async fn spawn(&self, task: Task) -> Result<Spawned, String> {
        let engine = self.engine()?;
        engine.spawn_subagent(&self.session, &self.agent, self.on_behalf_of(), task).await
    }

    fn conversations(&self, agent: &AgentId) -> Result<Conversations, String> {
        let home = self.engine()?.home(agent).map_err(|error| error.to_string())?;
        Ok(Conversations { sessions: home.sessions.clone(), transcripts: home.transcripts.clone() })
    }

    async fn look(&self, image: Value, question: &str) -> Result<String, String> {
        self.engine()?.look(&self.agent, &self.session, image, question).await
    }

    fn notice(&self, session: &SessionKey, words: &str) {
        if let Ok(engine) = self.engine() {
            engine.notice(session, words);
        }
    }

    async fn ask(&self, question: Question) -> Decision {
        let Ok(engine) = self.engine() else { return Decision::Unanswered };
        let command = question.command.clone();
        engine
            .ask(&self.session, question, async |id: &str| {
                // Only where nobody but the owner reads it, and can answer.
                let Some(to) = self.address.clone().filter(|_| self.company == Company::OwnerAlone) else {
                    return false;
                };
                let Some(channel) = to.channel.as_deref().and_then(|name| engine.channel(name)) else {
                    return false;
                };
                let short: String = id.chars().take(8).collect();
                let text = format!(
                    "🔒 May I run this?\n\n{command}\n\nAnswer /approve {short} once, /approve {short} always or /approve {short} deny within two minutes."
                );
                let delivery = format!("{}:approval", self.delivery);
                let outgoing = Outgoing { to: to.clone(), payload: ReplyPayload::from_text(text), delivery };
                channel.perform(Action::Send(outgoing)).await.is_ok()
            })
            .await
    }
}

impl Engine {
    /// Says something in a session, for an agent.
    pub(crate) async fn ask_session(
        &self,
        session: &SessionKey,
        words: &str,
        behalf: OnBehalfOf,
        reply_to: ReplyTo,
        options: TurnOptions,
    ) -> Result<TurnHandle, String> {
        let message = InboundMessage {
            body: Some(words.to_owned()),
            session_key: Some(session.as_str().to_owned()),
            ..InboundMessage::default()
        };
        let principal = Principal::Agent(behalf);
        let submission = Submission { principal, reply_to, message, options, ..Submission::default() };
        match self.submit(submission).await {
            Ok(SubmitOutcome::Accepted(ticket)) => Ok(ticket),
            Ok(SubmitOutcome::Repeated | SubmitOutcome::Overheard | SubmitOutcome::NotServed) => {
                Err(format!("{session} does not take messages from here"))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// What a turn said, all of it.
pub(crate) fn said(report: &TurnReport) -> Option<String> {
    let texts: Vec<&str> = report.payloads.iter().filter_map(|payload| payload.text.as_deref()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}
