//! One run: model and tools, until there is an answer.
//!
//! Messages that arrive meanwhile are looked for at two points: between two calls of the model
//! ([`steered`](crate::steering::RunControl::steered)) and before the run ends
//! ([`followed_up`](crate::steering::RunControl::followed_up)).

use std::sync::Arc;

use tokio::time::Instant;
use yabby_domain::compaction::is_due;
use yabby_domain::compaction::projected::projected;
use yabby_domain::config::Config;
use yabby_domain::config::extras::ExtraTools;
use yabby_domain::directive::level::{Level as _, ThinkLevel};
use yabby_domain::json::Object;
use yabby_domain::message::Message;
use yabby_domain::model::ModelRef;
use yabby_domain::provider_rules::may_think;
use yabby_domain::reply::notices;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::seam::model::{ModelError, ModelErrorKind, ModelRequest, Purpose};
use yabby_domain::seam::tool::{Sent, ToolSpec};
use yabby_domain::session::cli_session;
use yabby_domain::text;
use yabby_domain::transcript::before_run::RunSettings;
use yabby_domain::transcript::tree::NewEntry;
use yabby_domain::turn::Step;
use yabby_domain::usage::Usage;

use super::answer;
use super::call::{Called, call_model};
use super::compact::{self, Why};
use super::context::{Extent, Telling, told, told_at_once};
use super::conversation::{Conversation, FLUSH_MARK};
use super::failover::is_worth_another;
use super::request::{Opening, RunRequest};
use super::resume::{Standing, asked_at, standing};
use super::system_prompt;
use super::tools::{call_tools, refused};
use crate::commands::queued_prompt;
use crate::durability::Recorded;
use crate::events::{Compacted, EventKind};
use crate::home::Known;
use crate::hooks::{HookEvent, HookPoint};
use crate::inbound::Inbound;
use crate::turn::TurnError;
use crate::turn::flush::flush_on_overflow;
use crate::turn::payloads::unsent;
use crate::turn::prompt::{Prompt, illustrated, user_message};

/// How often a request that was too long is tried again: compacted, trimmed, and cut down to its end.
const OVERFLOW_TRIES: usize = 3;

/// How a run went.
#[derive(Debug)]
pub(crate) struct Run {
    /// What the agent said, one message after the other.
    pub(crate) answers: Vec<Message>,
    pub(crate) last_usage: Option<Usage>,
    pub(crate) model: ModelRef,
    pub(crate) context_window: u64,
    pub(crate) system_prompt_report: Arc<Object>,
    pub(crate) cli_session_id: Option<String>,
    pub(crate) aborted: bool,
    /// The answer was in the transcript before the run began.
    pub(crate) is_replay: bool,
    pub(crate) error: Option<ModelError>,
    pub(crate) compactions: Vec<Compacted>,
    /// Messages that tools sent.
    pub(crate) sent: Vec<Sent>,
    /// Pieces of the answer that were sent already.
    pub(crate) blocks: Vec<ReplyPayload>,
}

/// Runs until there is an answer, or a reason why there is none.
pub(crate) async fn run(
    mut request: RunRequest<'_>,
    conversation: &mut Conversation,
    recorded: &Recorded,
) -> Result<Run, TurnError> {
    let began = Instant::now();
    let mut looping = Loop::begin(&mut request, conversation, recorded).await?;
    let ran = looping.go(&mut request, conversation).await;
    let mut run = looping.run;
    if let Some(blocks) = request.blocks.take() {
        run.blocks.extend(blocks.finish().await);
    }
    if ran.is_ok() && request.purpose == Purpose::Turn && !request.is_heartbeat() && run.said_nothing() {
        let RunRequest { engine, opened, turn, .. } = &request;
        engine.tell(&opened.key, Some(turn), EventKind::Text(notices::EMPTY_ANSWER.to_owned()));
    }
    tell_end(&request, conversation, &run, began);
    ran.map(|()| run)
}

impl Run {
    /// Whether the model answered, and with nothing that anybody could read.
    pub(crate) fn said_nothing(&self) -> bool {
        let is_blank = |answer: &Message| !text::is_visible(&answer::text_of(answer));
        !self.answers.is_empty()
            && self.answers.iter().all(is_blank)
            && self.error.is_none()
            && !self.aborted
            && self.sent.is_empty()
            && self.blocks.is_empty()
    }
}

struct Loop {
    recorded: Recorded,
    run: Run,
    system: String,
    specs: Vec<Arc<ToolSpec>>,
    overhead: u64,
    /// How often the request was too long.
    overflows: usize,
    /// How often the model asked for tools.
    tool_rounds: u64,
    extent: Extent,
    /// The transcript knows what this run sanitises for.
    noted: bool,
    has_started: bool,
    /// There is nothing left to ask.
    done: bool,
}

impl Loop {
    /// Puts the question at the end of the conversation, or finds out how far an earlier run came.
    async fn begin(
        request: &mut RunRequest<'_>,
        conversation: &mut Conversation,
        recorded: &Recorded,
    ) -> Result<Self, TurnError> {
        let Opening { mut system, tools, mut overhead } = request.opening().clone();
        let choice = request.choice.clone();
        let mut run = Run {
            answers: Vec::new(),
            last_usage: None,
            model: choice.model.clone(),
            context_window: choice.window(&request.opened.config),
            system_prompt_report: Arc::default(),
            cli_session_id: None,
            aborted: false,
            is_replay: false,
            error: None,
            compactions: Vec::new(),
            sent: Vec::new(),
            blocks: Vec::new(),
        };
        let now = request.engine.now_ms();
        let before = match request.resume.as_deref() {
            Some(progress) => {
                let effect = |name: &str| request.tool(name).map(|tool| tool.effect());
                standing(conversation.transcript(), request.prompt.asked_at, progress, effect, now)
            }
            // A question that stands in the transcript before its turn began is another turn's.
            None => Standing::Unasked,
        };
        if !matches!(before, Standing::Answered(_))
            && let Some(other) = ask_hooks(request, conversation).await
        {
            overhead = system_prompt::overhead(&other, &tools);
            system = other;
        }
        let mut done = false;
        match before {
            Standing::Answered(answers) => {
                run.answers = answers;
                run.is_replay = true;
                done = true;
            }
            Standing::Underway { answers, results } => {
                run.answers = answers;
                conversation.say(request.engine, &request.opened, results, recorded).await?;
            }
            Standing::Unasked => {
                let model = Some((choice.model.provider.as_str(), choice.model.model.as_str()));
                let settings = RunSettings { model, thinking_level: request.thinking.as_str() };
                conversation.begin(settings).await?;
                if request.purpose == Purpose::Flush {
                    conversation.add(NewEntry::Custom { custom_type: FLUSH_MARK.to_owned(), data: None });
                }
                conversation.add(NewEntry::Message(request.prompt.message()));
            }
        }
        if let Some(progress) = &request.resume {
            let (blocks, reached) = pieces(&progress.blocks, &run.answers);
            run.blocks = blocks;
            if !reached.is_empty() && !done {
                // Part of an answer was sent, and the rest of it is lost.
                conversation.add(NewEntry::Message(answer::interrupted(&reached, &choice, now)));
                // No message may be taken for this one: they are told apart by their times.
                let at = request.engine.not_before(now);
                conversation.add(NewEntry::Message(user_message(CONTINUE, at)));
            }
        }
        run.system_prompt_report = Arc::new(system_prompt::report(request, &system, now));
        let specs = specs_of(&tools);
        Ok(Self {
            recorded: *recorded,
            run,
            system,
            specs,
            overhead,
            overflows: 0,
            tool_rounds: 0,
            extent: request.extent,
            noted: false,
            has_started: false,
            done,
        })
    }

    async fn go(
        &mut self,
        request: &mut RunRequest<'_>,
        conversation: &mut Conversation,
    ) -> Result<(), TurnError> {
        let (engine, opened) = (request.engine, &request.opened.clone());
        let recorded = self.recorded;
        if self.done {
            return Ok(());
        }
        loop {
            self.compact_if_due(request, conversation).await;
            let asked = self.ask(request, conversation);
            self.start(request);
            let now = engine.now_ms();
            match call_model(request, &asked, &recorded).await {
                Called::Answered(given) => {
                    let prices = request.choice.prices(&opened.config);
                    let message = answer::answered(&given, &request.choice, prices.as_ref(), now);
                    self.run.last_usage = Some(given.usage);
                    self.run.cli_session_id = given.cli_session_id.or(self.run.cli_session_id.take());
                    conversation.say(engine, opened, vec![message.clone()], &recorded).await?;
                    if let Some(blocks) = &request.blocks {
                        blocks.message_end();
                    }
                    let calls = answer::calls(&message);
                    self.run.answers.push(message);
                    if !self.act(request, conversation, calls).await? {
                        return Ok(());
                    }
                }
                Called::Aborted { said } => {
                    let message = answer::aborted(&said, &request.choice, now);
                    conversation.say(engine, opened, vec![message.clone()], &recorded).await?;
                    self.run.answers.push(message);
                    self.run.aborted = true;
                    return Ok(());
                }
                Called::Failed { said, error } => {
                    let model = &request.choice.model;
                    tracing::info!(
                        session = %opened.key,
                        provider = %model.provider,
                        model = %model.model,
                        status = error.status,
                        kind = ?error.kind,
                        error = %error.message,
                        "model call failed"
                    );
                    let too_long = error.kind == ModelErrorKind::ContextOverflow;
                    let goes_on = (too_long && self.make_room(request, conversation).await?)
                        // What was heard of an answer cannot be unsaid.
                        || (said.is_empty() && self.fall_back(request, &error));
                    if !goes_on {
                        return self.give_up(request, conversation, &said, error).await;
                    }
                }
            }
        }
    }

    /// Everything is ready: from now on somebody hears of the run, and it can be told more.
    fn start(&mut self, request: &RunRequest<'_>) {
        if !std::mem::replace(&mut self.has_started, true) && request.purpose == Purpose::Turn {
            let RunRequest { engine, opened, control, turn, .. } = request;
            engine.tell(&opened.key, Some(turn), request.started());
            control.open();
        }
    }

    /// Does what an answer asks for; whether the model is to be asked again.
    async fn act(
        &mut self,
        request: &RunRequest<'_>,
        conversation: &mut Conversation,
        calls: Vec<answer::Call>,
    ) -> Result<bool, TurnError> {
        let RunRequest { engine, opened, control, .. } = request;
        let more = if calls.is_empty() {
            let more = if request.purpose == Purpose::Turn { control.followed_up() } else { Vec::new() };
            if more.is_empty() {
                return Ok(false);
            }
            more
        } else if self.tool_rounds >= max_tool_rounds(&opened.config) {
            let (now, error) = (engine.now_ms(), too_many_tool_rounds(self.tool_rounds));
            let results = calls.iter().map(|call| refused(call, &error.message, now)).collect();
            conversation.say(engine, opened, results, &self.recorded).await?;
            self.run.error = Some(error);
            return Ok(false);
        } else {
            self.tool_rounds += 1;
            let done = call_tools(request, calls).await?;
            conversation.say(engine, opened, done.results, &self.recorded).await?;
            self.run.sent.extend(done.sent);
            if control.cancel.is_cancelled() {
                self.run.aborted = true;
                return Ok(false);
            }
            if request.purpose == Purpose::Turn { control.steered() } else { Vec::new() }
        };
        for inbound in more {
            let text = queued_prompt(&inbound, &opened.config);
            let asked = illustrated(&text, inbound.pictures(), inbound.accepted_at);
            engine.0.log.note(&inbound.turn, [Step::Begun { run: request.turn.clone() }]).await?;
            // It is in the transcript before pieces of an answer to it can be sent: otherwise a crash between the two
            // would have it asked again, and answered from the beginning.
            conversation.say(engine, opened, vec![asked], &self.recorded).await?;
            engine.tell(&opened.key, Some(request.turn), EventKind::Steered { turn: inbound.turn });
        }
        Ok(true)
    }

    /// The next request.
    fn ask(&mut self, request: &RunRequest<'_>, conversation: &mut Conversation) -> ModelRequest {
        let RunRequest { engine, opened, choice, .. } = request;
        let telling = Telling {
            choice,
            config: &opened.config,
            session_key: opened.key.as_str(),
            now: engine.now(),
            extent: self.extent,
        };
        let (transcript, pending) = (conversation.transcript(), conversation.pending_messages());
        let told = match request.purpose {
            Purpose::Turn => engine.0.prepared.with(&opened.home, &opened.transcript, |prepared| {
                told(transcript, pending, &telling, prepared)
            }),
            // Such a request stands beside the conversation.
            Purpose::Flush | Purpose::Summary => told_at_once(transcript, pending, &telling),
        };
        if !std::mem::replace(&mut self.noted, true) {
            conversation.add_first(told.to_append);
        }
        let may_think = choice.info.reasoning && may_think(&told.messages, &choice.recipient());
        ModelRequest {
            system: self.system.clone(),
            tools: self.specs.clone(),
            thinking: if may_think { request.thinking } else { ThinkLevel::Off },
            cli_session: self.cli_session(request),
            purpose: request.purpose,
            settled: told.settled,
            ..request.question(told.messages)
        }
    }

    /// The session that a program goes on with: the one of its last answer, else the one on record, which a
    /// compaction makes worthless.
    fn cli_session(&self, request: &RunRequest<'_>) -> Option<String> {
        let stored = cli_session::stored(&request.opened.entry, &request.choice.model.provider);
        let stored = stored.filter(|_| self.run.compactions.is_empty()).map(str::to_owned);
        self.run.cli_session_id.clone().or(stored)
    }

    /// Compacts before the context is too full for the next question.
    async fn compact_if_due(&mut self, request: &RunRequest<'_>, conversation: &mut Conversation) {
        let opened = &request.opened;
        let settings = compact::settings(&opened.config, self.run.context_window);
        let tokens =
            projected(&conversation.transcript().branch(), &conversation.pending_messages(), self.overhead);
        #[expect(clippy::cast_precision_loss, reason = "no context is that large")]
        if request.purpose != Purpose::Turn
            || self.overflows > 0
            || !is_due(tokens as f64, self.run.context_window, &settings)
        {
            return;
        }
        self.start(request);
        match compact::compact(request, conversation, Why::Full, &self.recorded).await {
            Ok(compacted) => self.compacted(compacted),
            // The provider may still take it; if not, that is the overflow's business.
            Err(error) => tracing::warn!(session = %opened.key, %error, "the history was not compacted"),
        }
    }

    fn compacted(&mut self, compacted: Compacted) {
        self.run.compactions.push(compacted);
        self.run.cli_session_id = None;
    }

    /// Takes another model where this one cannot answer; whether there is one.
    fn fall_back(&mut self, request: &mut RunRequest<'_>, error: &ModelError) -> bool {
        if !is_worth_another(error.kind, request.deadline) {
            return false;
        }
        while let Some(next) = request.fallbacks.pop_front() {
            let Ok(choice) = request.engine.find_model(&next) else { continue };
            let (from, why) = (request.choice.model.clone(), error.message.clone());
            tracing::warn!(%from, to = %next, %why, "another model is asked");
            let kind = EventKind::FellBack { from, to: next.clone(), why };
            request.engine.tell(&request.opened.key, Some(request.turn), kind);
            self.run.context_window = choice.window(&request.opened.config);
            self.run.model = next;
            request.choice = choice;
            request.equip();
            self.specs = specs_of(&request.opening().tools);
            self.run.cli_session_id = None;
            self.noted = false;
            return true;
        }
        false
    }

    /// Makes a request fit that was too long; whether it is worth another try. Memories are saved and the
    /// history is compacted; if that is not enough, tool results are trimmed, and in the end old messages
    /// are left out, so that one that is too long does not block its session for ever.
    async fn make_room(
        &mut self,
        request: &RunRequest<'_>,
        conversation: &mut Conversation,
    ) -> Result<bool, TurnError> {
        self.overflows += 1;
        if self.overflows > 1 || request.purpose != Purpose::Turn {
            let half = self.run.context_window / 2;
            self.extent = match self.extent {
                Extent::Whole if request.purpose == Purpose::Turn => Extent::Trimmed,
                Extent::Whole | Extent::Trimmed => Extent::Recent(half),
                Extent::Recent(tokens) => Extent::Recent(tokens / 2),
            };
            return Ok(self.overflows <= OVERFLOW_TRIES);
        }
        flush_on_overflow(request, conversation, &self.recorded).await;
        match compact::compact(request, conversation, Why::Overflow, &self.recorded).await {
            Ok(compacted) => self.compacted(compacted),
            Err(failed) => {
                tracing::warn!(session = %request.opened.key, error = %failed, "the history was not compacted");
                self.extent = Extent::Trimmed;
            }
        }
        Ok(true)
    }

    /// Writes down that there is no answer, and why.
    async fn give_up(
        &mut self,
        request: &RunRequest<'_>,
        conversation: &mut Conversation,
        said: &str,
        error: ModelError,
    ) -> Result<(), TurnError> {
        let message = answer::failed(said, &request.choice, &error.message, request.engine.now_ms());
        conversation.say(request.engine, &request.opened, vec![message], &self.recorded).await?;
        self.run.error = Some(match error.kind {
            ModelErrorKind::ContextOverflow => too_long(),
            _ => error,
        });
        Ok(())
    }
}

/// How often a run may ask for tools, with as many calls each time as the model likes.
fn max_tool_rounds(config: &Config) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 1, and saturates")]
    let whole = |rounds: f64| rounds as u64;
    match config.extras.tools.max_rounds() {
        rounds if rounds >= 1.0 => whole(rounds),
        _ => whole(ExtraTools::default().max_rounds()),
    }
}

fn too_many_tool_rounds(rounds: u64) -> ModelError {
    ModelError::new(
        ModelErrorKind::Refused,
        format!(
            "The agent asked for tools {rounds} times without coming to an answer, and was stopped. Say “go on” if it was \
             getting somewhere, or allow more with `tools.maxRounds`."
        ),
    )
}

/// What the model is told about its tools.
fn specs_of(tools: &[Known]) -> Vec<Arc<ToolSpec>> {
    tools.iter().map(|known| known.spec.clone()).collect()
}

/// Whether the question of a turn stands in the transcript already: the turn goes on from there.
pub(crate) fn is_asked(inbound: &Inbound, prompt: &Prompt, conversation: &Conversation) -> bool {
    inbound.resume.is_some() && asked_at(conversation.transcript(), prompt.asked_at).is_some()
}

/// The pieces that were sent of these answers, and what reached somebody of an answer that is lost.
fn pieces(blocks: &[ReplyPayload], answers: &[Message]) -> (Vec<ReplyPayload>, String) {
    let mut sent: Vec<&str> = blocks.iter().filter_map(|block| block.text.as_deref()).collect();
    for answer in answers {
        unsent(&answer::text_of(answer), &mut sent);
    }
    let lost = sent.join("\n\n");
    let known = blocks.len() - sent.len();
    (blocks[..known].to_vec(), lost)
}

/// What the model is told after part of its answer was lost.
const CONTINUE: &str = "System: the program was stopped while you were answering. What stands above reached the user; the rest is lost. Go on where it ends, without repeating any of it. If nothing is missing, answer with NO_REPLY.";

fn too_long() -> ModelError {
    ModelError::new(
        ModelErrorKind::ContextOverflow,
        "The conversation is too long for the model, even after it was compacted. Begin a new one with /new, or choose a model that reads more with /model.",
    )
}

/// Lets hooks put something before the prompt, or say other opening words.
async fn ask_hooks(request: &mut RunRequest<'_>, conversation: &Conversation) -> Option<String> {
    let hooks = &request.engine.0.hooks;
    if request.purpose != Purpose::Turn || !hooks.has(HookPoint::BeforeAgentStart) {
        return None;
    }
    let change = hooks
        .start(HookEvent::BeforeAgentStart {
            session_key: request.opened.key.as_str().to_owned(),
            prompt: request.prompt.text.clone(),
            messages: Arc::new(conversation.transcript().context().messages),
        })
        .await;
    if let Some(context) = change.prepend_context {
        request.prompt.text = format!("{context}\n\n{}", request.prompt.text);
    }
    change.system_prompt
}

fn tell_end(request: &RunRequest<'_>, conversation: &Conversation, run: &Run, began: Instant) {
    let hooks = &request.engine.0.hooks;
    if request.purpose != Purpose::Turn || !hooks.has(HookPoint::AgentEnd) {
        return;
    }
    hooks.tell(HookEvent::AgentEnd {
        session_key: request.opened.key.as_str().to_owned(),
        messages: Arc::new(conversation.transcript().context().messages),
        success: run.error.is_none() && !run.aborted,
        error: run.error.as_ref().map(ToString::to_string),
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
}
