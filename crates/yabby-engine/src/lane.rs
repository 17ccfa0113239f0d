//! The lane of one session: its turns are taken one at a time, here (`sessions.md` §18).
//!
//! What arrives during a run is slipped into it, waits, or cancels it, as the session's queue mode says.
//! Commands act at once; those that change the conversation itself wait for the run, and keep their place
//! between the messages before and after them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use yabby_domain::config::Config;
use yabby_domain::delivery::DeliveryContext;
use yabby_domain::principal::ReplyTo;
use yabby_domain::queue::followup::{
    Dedupe, Drain, FollowupQueue, FollowupRoute, FollowupRun, QUEUE_TITLE, Waiting,
};
use yabby_domain::queue::{Admit, LaneState, QueueSettings, QueueWishes, admit};
use yabby_domain::seam::StoreError;
use yabby_domain::session::entry::Patch;
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::not_answered::NotAnsweredReason;
use yabby_domain::turn::{Outcome, Progress, Step, TurnId};

use crate::commands::{self, Urgency};
use crate::events::EventKind;
use crate::inbound::{Inbound, PromptSource};
use crate::report::TurnReport;
use crate::services::{HoldMode, SessionHold};
use crate::steering::{QueuedTurn, RunControl};
use crate::turn::{Taken, Untaken};
use crate::{Engine, turn, unpoisoned};

/// How long a lane with nothing to do stays open.
const IDLE: Duration = Duration::from_secs(30);

pub(crate) enum LaneMessage {
    Take(Box<QueuedTurn>),
    Abort {
        reply: oneshot::Sender<bool>,
    },
    /// Stops one turn, and leaves the others alone.
    AbortTurn {
        turn: TurnId,
        reply: oneshot::Sender<bool>,
    },
    /// Lends the session to a service.
    Hold {
        mode: HoldMode,
        reply: oneshot::Sender<SessionHold>,
    },
}

pub(crate) struct Lane {
    engine: Engine,
    key: SessionKey,
    mailbox: mpsc::UnboundedReceiver<LaneMessage>,
    running: Option<Running>,
    /// The end of the last turn, which is still being written down. The next one begins after that.
    ending: Option<JoinHandle<()>>,
    waiting: VecDeque<Batch>,
    /// Services that wait for the session.
    holders: VecDeque<oneshot::Sender<SessionHold>>,
    /// Messages that get no answer, and whose words are written when the run has let go of the transcript.
    unanswered: Vec<(Arc<Queued>, NotAnsweredReason)>,
}

struct Running {
    turn: TurnId,
    control: Arc<RunControl>,
    place: Place,
    is_owners: bool,
    /// Ends with the messages that were slipped in too late for the run.
    task: JoinHandle<Ended>,
}

/// What waits for the run to end.
enum Batch {
    /// Messages that may become one run.
    Messages { queue: Box<FollowupQueue<Arc<Queued>>>, dropped: Vec<Arc<Queued>> },
    /// A message that is taken alone, at its place.
    Apart(Box<QueuedTurn>),
}

/// A message that waits. Whoever takes it out of the queue also answers for it.
struct Queued {
    inbound: Inbound,
    done: std::sync::Mutex<Option<oneshot::Sender<TurnReport>>>,
}

/// A turn to be taken, and the messages that it answers besides its own.
struct Work {
    asked: QueuedTurn,
    joined: Vec<Arc<Queued>>,
    place: Place,
}

/// A turn that has its answer, and what is still to be told of it. The lane is free again before anybody is told:
/// whoever writes again at once must not find it busy.
#[derive(Default)]
struct Ended {
    reports: Vec<(oneshot::Sender<TurnReport>, TurnReport)>,
    /// Messages that came too late to be slipped in.
    late: VecDeque<QueuedTurn>,
    /// Writes down that it is over.
    ending: Option<JoinHandle<()>>,
}

impl Ended {
    /// Tells everybody who waits.
    fn tell(&mut self) {
        for (done, report) in self.reports.drain(..) {
            let _ = done.send(report);
        }
    }
}

/// What a turn waits for before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// One of the places that its class has.
    InClass,
    /// Nothing: commands ask no model, and somebody may want to know why everything else is waiting.
    Free,
}

impl Work {
    fn of(asked: QueuedTurn, urgency: Urgency) -> Self {
        let place = match urgency {
            Urgency::Abort | Urgency::AtOnce => Place::Free,
            Urgency::InPlace | Urgency::Usual => Place::InClass,
        };
        Self { asked, joined: Vec::new(), place }
    }
}

impl Lane {
    pub(crate) fn new(
        engine: Engine,
        key: SessionKey,
        mailbox: mpsc::UnboundedReceiver<LaneMessage>,
    ) -> Self {
        Self {
            engine,
            key,
            mailbox,
            running: None,
            ending: None,
            waiting: VecDeque::new(),
            holders: VecDeque::new(),
            unanswered: Vec::new(),
        }
    }

    pub(crate) async fn run(mut self) {
        loop {
            let wake = self.start_next().await;
            let message = match &mut self.running {
                Some(running) => tokio::select! {
                    message = self.mailbox.recv() => message,
                    ended = &mut running.task => {
                        let late = self.ended(ended.unwrap_or_default());
                        // What came too late for the run gets a turn of its own, before whatever came
                        // after it.
                        for asked in late.into_iter().rev() {
                            self.waiting.push_front(Batch::Apart(Box::new(asked)));
                        }
                        continue;
                    }
                },
                None => match tokio::time::timeout(wake.unwrap_or(IDLE), self.mailbox.recv()).await {
                    Ok(message) => message,
                    Err(_) if wake.is_none() && self.engine.0.lanes.close(&self.key, &self.mailbox) => return,
                    Err(_) => continue,
                },
            };
            match message {
                Some(LaneMessage::Take(asked)) => self.admit(*asked).await,
                Some(LaneMessage::Abort { reply }) => {
                    let stopped = self.abort().await;
                    let _ = reply.send(stopped);
                }
                Some(LaneMessage::AbortTurn { turn, reply }) => {
                    let stopped = self.abort_turn(&turn).await;
                    let _ = reply.send(stopped);
                }
                Some(LaneMessage::Hold { mode, reply }) => {
                    if mode == HoldMode::Stopping {
                        self.abort().await;
                    }
                    self.holders.push_back(reply);
                }
                // Nobody can send anything any more.
                None => return,
            }
        }
    }

    /// The run has its answer; the messages that came too late for it.
    fn ended(&mut self, mut ended: Ended) -> VecDeque<QueuedTurn> {
        self.running = None;
        self.ending = ended.ending.take();
        ended.tell();
        ended.late
    }

    /// Decides what becomes of a message.
    async fn admit(&mut self, asked: QueuedTurn) {
        let config = self.engine.config();
        let urgency = commands::urgency(&asked.inbound, &config);
        let is_in_turn = matches!(urgency, Urgency::Usual | Urgency::InPlace);
        let begins_now = is_in_turn && self.running.is_none() && self.waiting.is_empty();
        // A turn that begins gets ready meanwhile.
        if !begins_now && asked.inbound.durable.wait().await.is_err() {
            self.engine.0.lanes.done(&self.key, 1);
            return;
        }
        match (urgency, &self.running) {
            (Urgency::Abort, _) => self.answer_abort(asked).await,
            // A command is done with in a moment, and what comes after it may rely on it.
            (_, Some(Running { place: Place::Free, .. })) if self.waits_for_commands_alone() => {
                self.waiting.push_back(Batch::Apart(Box::new(asked)));
            }
            (Urgency::AtOnce, Some(_)) => self.take_beside(asked),
            (Urgency::AtOnce, None) => self.take(Work::of(asked, urgency)),
            (_, None) if self.waiting.is_empty() => self.take(Work::of(asked, urgency)),
            (Urgency::InPlace, _) => self.waiting.push_back(Batch::Apart(Box::new(asked))),
            (Urgency::Usual, _) => self.admit_words(asked, &config).await,
        }
    }

    /// Nothing waits but what is taken alone, at its place.
    fn waits_for_commands_alone(&self) -> bool {
        self.waiting.iter().all(|batch| matches!(batch, Batch::Apart(_)))
    }

    async fn admit_words(&mut self, asked: QueuedTurn, config: &Config) {
        let settings = self.settings(&asked.inbound, config).await;
        let state = self
            .running
            .as_ref()
            .map_or(LaneState::Running { accepts_steering: false }, |running| running.control.state());
        match admit(settings.mode, state) {
            Admit::CancelThenRun => {
                self.abort().await;
                self.take(Work::of(asked, Urgency::Usual));
            }
            Admit::Steer => {
                if let Some(asked) = self.steer(asked) {
                    self.enqueue(asked, settings, config).await;
                }
            }
            Admit::SteerAndQueue => {
                // The run is told, and the message still gets a turn of its own.
                let told = QueuedTurn { inbound: asked.inbound.clone(), done: None };
                let _ = self.steer(told);
                self.enqueue(asked, settings, config).await;
            }
            Admit::Queue | Admit::RunNow => self.enqueue(asked, settings, config).await,
        }
    }

    /// Slips a message into the run; it comes back if the run takes none. What others say is not slipped
    /// into a run that may do what only the owner may have done.
    fn steer(&self, asked: QueuedTurn) -> Option<QueuedTurn> {
        match &self.running {
            Some(running) if running.is_owners && !asked.inbound.is_owner() => Some(asked),
            Some(running) => running.control.steer(asked).err().map(|asked| *asked),
            None => Some(asked),
        }
    }

    async fn settings(&self, inbound: &Inbound, config: &Config) -> QueueSettings {
        let entry = match self.engine.home(&inbound.target().agent) {
            Ok(home) => home.sessions.get(&self.key).await.ok().flatten(),
            Err(_) => None,
        };
        let session = entry.as_ref().map(QueueWishes::from_session).unwrap_or_default();
        QueueSettings::resolve(&QueueWishes::default(), &session, config, inbound.channel())
    }

    async fn enqueue(&mut self, asked: QueuedTurn, settings: QueueSettings, config: &Config) {
        let now = self.engine.now_ms();
        let inbound = asked.inbound.clone();
        let waiting = Waiting {
            prompt: commands::queued_prompt(&inbound, config),
            message_id: inbound.message.message_id.clone(),
            summary_line: inbound.message.raw_body.clone(),
            route: route(&inbound),
            run: queued(asked),
        };
        let message = waiting.run.clone();
        if !matches!(self.waiting.back(), Some(Batch::Messages { .. })) {
            let queue = Box::new(FollowupQueue::new(settings));
            self.waiting.push_back(Batch::Messages { queue, dropped: Vec::new() });
        }
        let Some(Batch::Messages { queue, dropped }) = self.waiting.back_mut() else { return };
        queue.set_settings(settings);
        let before: Vec<Arc<Queued>> = queue.waiting().map(|waiting| waiting.run.clone()).collect();
        #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
        let taken = queue.enqueue(waiting, Dedupe::ByMessageId, now as f64);
        let left: Vec<Arc<Queued>> = queue.waiting().map(|waiting| waiting.run.clone()).collect();
        let gone: Vec<Arc<Queued>> = before.into_iter().filter(|one| !contains(&left, one)).collect();
        let count = left.len();
        // A line of what gave way may still be told; until then it is not done with.
        let summarized = queue.dropped().0 > 0;
        let refused = (!taken).then_some(message);
        let given_up: Vec<Arc<Queued>> = if summarized {
            dropped.extend(gone);
            refused.into_iter().collect()
        } else {
            gone.into_iter().chain(refused).collect()
        };
        self.give_up(given_up, NotAnsweredReason::QueueFull).await;
        self.engine.tell(&self.key, Some(&inbound.turn), EventKind::Queued { waiting: count });
        self.touch(&inbound, now).await;
    }

    /// A session in which somebody writes is in use, even if nobody answers yet.
    async fn touch(&self, inbound: &Inbound, now: i64) {
        let Ok(home) = self.engine.home(&inbound.target().agent) else { return };
        let change = move |entry: &mut Option<yabby_domain::session::entry::SessionEntry>| {
            if let Some(entry) = entry {
                let mut patch = Patch::default();
                #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
                patch.set_updated_at(Some(now as f64));
                entry.apply(&patch);
            }
        };
        if let Err(error) = home.sessions.update(&self.key, Box::new(change)).await {
            tracing::warn!(%error, session = %self.key, "the session was not marked as used");
        }
    }

    /// Starts what waits, if nothing runs; how long to wait for it, if it is not due yet.
    async fn start_next(&mut self) -> Option<Duration> {
        while self.running.is_none() {
            self.keep_unanswered().await;
            self.lend().await;
            match self.waiting.pop_front()? {
                Batch::Apart(asked) => {
                    let urgency = commands::urgency(&asked.inbound, &self.engine.config());
                    self.take(Work::of(*asked, urgency));
                }
                Batch::Messages { mut queue, dropped } => {
                    let now = self.engine.now_ms();
                    let before: Vec<Arc<Queued>> =
                        queue.waiting().map(|waiting| waiting.run.clone()).collect();
                    let told_of_dropped = queue.dropped().0 > 0;
                    #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
                    match queue.drain(now as f64) {
                        Drain::Done => self.give_up(dropped, NotAnsweredReason::QueueFull).await,
                        Drain::Wait(until) => {
                            let wait = (until - now as f64).max(1.0);
                            self.waiting.push_front(Batch::Messages { queue, dropped });
                            return Some(Duration::from_secs_f64(wait / 1000.0));
                        }
                        Drain::Run(run) => {
                            let left: Vec<Arc<Queued>> =
                                queue.waiting().map(|waiting| waiting.run.clone()).collect();
                            let mut joined: Vec<Arc<Queued>> =
                                before.into_iter().filter(|one| !contains(&left, one)).collect();
                            // The run that tells of the messages which gave way also answers for them.
                            let tells = told_of_dropped && queue.dropped().0 == 0;
                            let kept = if tells {
                                // It tells the beginning of each; the transcript keeps the rest.
                                self.keep_dropped(&dropped).await;
                                joined.splice(0..0, dropped);
                                Vec::new()
                            } else {
                                dropped
                            };
                            self.waiting.push_front(Batch::Messages { queue, dropped: kept });
                            if let Some(work) = run_of(run, joined) {
                                self.take(work);
                            }
                        }
                    }
                }
            }
        }
        None
    }

    /// Lends the session to the services that wait for it, one after the other. Nothing runs.
    async fn lend(&mut self) {
        while let Some(holder) = self.holders.pop_front() {
            self.wait_for_ending().await;
            let (held, released) = oneshot::channel();
            // A service that waited for too long does not want it any more.
            if holder.send(SessionHold(held)).is_ok() {
                let _ = released.await;
            }
            self.engine.0.lanes.done(&self.key, 1);
        }
    }

    /// Takes a turn.
    fn take(&mut self, work: Work) {
        let (control, place) = (Arc::new(RunControl::default()), work.place);
        let is_owners = work.asked.inbound.is_owner();
        let turn = work.asked.inbound.turn.clone();
        let (engine, key, controlled) = (self.engine.clone(), self.key.clone(), control.clone());
        let before = self.ending.take();
        let task = tokio::spawn(async move {
            if let Some(before) = before {
                let _ = before.await;
            }
            take_turn(engine, key, work, controlled).await
        });
        self.running = Some(Running { turn, control, place, is_owners, task });
    }

    /// Answers a command while the run goes on.
    fn take_beside(&self, mut asked: QueuedTurn) {
        asked.inbound.concurrent = true;
        let work = Work::of(asked, Urgency::AtOnce);
        let (engine, key) = (self.engine.clone(), self.key.clone());
        tokio::spawn(async move {
            take_turn(engine, key, work, Arc::default()).await.tell();
        });
    }

    /// Stops the run, and forgets what waits.
    async fn abort(&mut self) -> bool {
        let waiting = std::mem::take(&mut self.waiting);
        let mut stopped = !waiting.is_empty();
        let mut unanswered: Vec<Arc<Queued>> = Vec::new();
        for batch in waiting {
            match batch {
                Batch::Messages { queue, dropped } => {
                    unanswered.extend(dropped);
                    unanswered.extend(queue.waiting().map(|waiting| waiting.run.clone()));
                }
                Batch::Apart(asked) => unanswered.push(queued(*asked)),
            }
        }
        if let Some(running) = self.running.take() {
            running.control.cancel.cancel();
            // A turn that was cancelled writes down what it has, and ends.
            let ended = running.task.await.unwrap_or_default();
            let late = self.ended(ended);
            unanswered.splice(0..0, late.into_iter().map(queued));
            stopped = true;
        }
        self.give_up(unanswered, NotAnsweredReason::Stopped).await;
        self.wait_for_ending().await;
        stopped
    }

    /// Stops a turn that runs or waits; whether it did. A run that is stopped ends in its own time.
    async fn abort_turn(&mut self, turn: &TurnId) -> bool {
        if let Some(running) = self.running.as_ref().filter(|running| running.turn == *turn) {
            running.control.cancel.cancel();
            return true;
        }
        // One that was slipped in and also waits is taken out of both.
        let slipped_in = self.running.as_ref().and_then(|running| running.control.take_back(turn));
        let original = slipped_in.filter(|asked| asked.done.is_some()).map(queued);
        let Some(message) = original.or_else(|| self.take_waiting(turn)) else { return false };
        self.give_up(vec![message], NotAnsweredReason::Stopped).await;
        true
    }

    /// Takes a message out of what waits.
    fn take_waiting(&mut self, turn: &TurnId) -> Option<Arc<Queued>> {
        let of_turn = |message: &Arc<Queued>| message.inbound.turn == *turn;
        let is_it = |batch: &Batch| matches!(batch, Batch::Apart(asked) if asked.inbound.turn == *turn);
        if let Some(place) = self.waiting.iter().position(is_it)
            && let Some(Batch::Apart(asked)) = self.waiting.remove(place)
        {
            return Some(queued(*asked));
        }
        self.waiting.iter_mut().find_map(|batch| match batch {
            Batch::Messages { queue, .. } => queue.remove(of_turn).map(|waiting| waiting.run),
            Batch::Apart(_) => None,
        })
    }

    async fn answer_abort(&mut self, asked: QueuedTurn) {
        let stopped = self.abort().await;
        if stopped {
            commands::stop::remember(&self.engine, &asked.inbound).await;
        }
        self.take(Work::of(asked, Urgency::Abort));
    }

    /// Gives up on messages that get no turn of their own: whoever waits for them is told at once, their words are
    /// kept as soon as the transcript is free.
    async fn give_up(&mut self, messages: Vec<Arc<Queued>>, reason: NotAnsweredReason) {
        if messages.is_empty() {
            return;
        }
        let inbound: Vec<&Inbound> = messages.iter().map(|message| &message.inbound).collect();
        let reports = self.engine.give_up(&self.key, &inbound, reason).await;
        for (message, report) in messages.iter().zip(reports) {
            if let Some(done) = unpoisoned(&message.done).take() {
                let _ = done.send(report);
            }
        }
        self.unanswered.extend(messages.into_iter().map(|message| (message, reason)));
        if self.running.is_none() {
            self.keep_unanswered().await;
        }
    }

    /// Writes the words of messages that were given up. The transcript is free: nothing runs.
    async fn keep_unanswered(&mut self) {
        if self.unanswered.is_empty() {
            return;
        }
        self.wait_for_ending().await;
        let unanswered = std::mem::take(&mut self.unanswered);
        for reason in [NotAnsweredReason::QueueFull, NotAnsweredReason::Stopped] {
            let of_reason = unanswered.iter().filter(|(_, why)| *why == reason);
            let messages: Vec<&Inbound> = of_reason.map(|(message, _)| &message.inbound).collect();
            self.engine.leave_unanswered(&self.key, &messages, reason).await;
        }
        self.engine.0.lanes.done(&self.key, unanswered.len());
    }

    /// Writes the words of messages that gave way in a full queue and are told of by a run.
    async fn keep_dropped(&mut self, dropped: &[Arc<Queued>]) {
        self.wait_for_ending().await;
        let messages: Vec<&Inbound> = dropped.iter().map(|message| &message.inbound).collect();
        if let Err(error) = self.engine.keep_words(&self.key, &messages, NotAnsweredReason::QueueFull).await {
            tracing::warn!(session = %self.key, %error, "the words of dropped messages were not kept");
        }
    }

    /// The turn before lets go of the transcript when its end is written.
    async fn wait_for_ending(&mut self) {
        if let Some(ending) = self.ending.take() {
            let _ = ending.await;
        }
    }
}

fn contains(list: &[Arc<Queued>], one: &Arc<Queued>) -> bool {
    list.iter().any(|other| Arc::ptr_eq(other, one))
}

fn queued(asked: QueuedTurn) -> Arc<Queued> {
    Arc::new(Queued { inbound: asked.inbound, done: std::sync::Mutex::new(asked.done) })
}

/// The turn that a run of the queue becomes: that of the message which lends the run its settings, or, if
/// that one still waits, of the last message that the run answers.
fn run_of(run: FollowupRun<Arc<Queued>>, mut joined: Vec<Arc<Queued>>) -> Option<Work> {
    let at = joined.iter().position(|one| Arc::ptr_eq(one, &run.run));
    let pictures = joined.iter().flat_map(|one| one.inbound.pictures()).cloned().collect();
    let own = joined.remove(at.or_else(|| joined.len().checked_sub(1))?);
    let mut inbound = own.inbound.clone();
    // A message that is run by itself is run like any other.
    let is_itself = joined.is_empty() && at.is_some() && !run.prompt.starts_with(QUEUE_TITLE);
    if !is_itself {
        inbound.prompt = PromptSource::Queued { prompt: run.prompt, pictures, route: run.route };
    }
    inbound.with_strangers = joined.iter().any(|message| !message.inbound.is_owner());
    let done = unpoisoned(&own.done).take();
    Some(Work { asked: QueuedTurn { inbound, done }, joined, place: Place::InClass })
}

/// Takes a turn from its place in the class to its report; what was slipped in too late for it.
async fn take_turn(engine: Engine, key: SessionKey, work: Work, control: Arc<RunControl>) -> Ended {
    let Work { asked: QueuedTurn { mut inbound, done }, joined, place } = work;
    let run = inbound.turn.clone();
    let mut pause = FIRST_PAUSE;
    let taken = loop {
        match attempt(&engine, &inbound, &joined, place, &control).await {
            Err(Untaken::CannotWrite(error)) => {
                tracing::error!(session = %key, turn = %run, %error, retry_in = ?pause, "turn suspended: cannot write");
                engine.tell(&key, Some(&run), EventKind::Suspended { why: error.to_string() });
                if !is_resumed(&engine, &mut inbound, &control, pause).await {
                    break Err(Untaken::Stopped);
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            taken => break taken,
        }
    };
    let Taken { report, conversation, recording } = match taken {
        Ok(taken) => taken,
        Err(Untaken::Stopped) => return stopped(&engine, &key, inbound, done, joined, &control).await,
        Err(_) => {
            engine.0.lanes.done(&key, 1);
            return Ended::default();
        }
    };
    let done_with = engine.announce(&inbound, &report).await;
    let (steered, late) = control.close();
    // One without anybody waiting for it is a copy: the message itself is in the queue.
    let is_original = |asked: &QueuedTurn| asked.done.is_some();
    let steered: Vec<QueuedTurn> = steered.into_iter().filter(is_original).collect();
    let late: VecDeque<QueuedTurn> = late.into_iter().filter(is_original).collect();
    let others: Vec<&Inbound> = joined
        .iter()
        .map(|message| &message.inbound)
        .chain(steered.iter().map(|asked| &asked.inbound))
        .collect();
    if report.outcome == Outcome::Answered && report.asked_model() {
        engine.forget_history([&inbound].into_iter().chain(others.iter().copied()));
    }
    // The run comes last: as long as it is not settled, it answers for the others.
    let joined_outcome = report.joined(&run).outcome;
    let settled = others.iter().map(|other| (other.turn.clone(), joined_outcome));
    let settled: Vec<(TurnId, Outcome)> = settled.chain([(run.clone(), report.outcome)]).collect();
    let waiting =
        joined.iter().map(|message| (message.inbound.turn.clone(), unpoisoned(&message.done).take()));
    let steered = steered.into_iter().map(|asked| (asked.inbound.turn, asked.done));
    let others = waiting.chain(steered).filter_map(|(turn, done)| Some((done?, report.joined(&turn))));
    let mut reports: Vec<_> = others.collect();
    reports.extend(done.map(|done| (done, report)));
    let ending = tokio::spawn(async move {
        drop(conversation);
        if let Some(recording) = recording {
            recording.await;
        }
        let count = settled.len();
        let is_settled = engine.0.log.settle(settled).await;
        if let Some(session) = done_with.filter(|_| is_settled) {
            session.put_away(&engine).await;
        }
        engine.0.lanes.done(&key, count);
    });
    Ended { reports, late, ending: Some(ending) }
}

/// How long to wait after a write that failed, before the turn goes on.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Takes the turn once there is a place in its class.
async fn attempt(
    engine: &Engine,
    inbound: &Inbound,
    joined: &[Arc<Queued>],
    place: Place,
    control: &RunControl,
) -> Result<Taken, Untaken> {
    let permitted = async {
        match place {
            Place::Free => None,
            Place::InClass => engine.0.classes.of(inbound.options.lane).clone().acquire_owned().await.ok(),
        }
    };
    let _permit = tokio::select! {
        permit = permitted => permit,
        () = control.cancel.cancelled() => return Err(Untaken::Stopped),
    };
    note_joined(engine, &inbound.turn, joined).await;
    turn::take(engine, inbound, control).await
}

/// Waits, and finds out how far a turn came whose write failed; `false` if it was stopped meanwhile.
async fn is_resumed(engine: &Engine, inbound: &mut Inbound, control: &RunControl, pause: Duration) -> bool {
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = control.cancel.cancelled() => return false,
        }
        match progress_of(engine, inbound, control).await {
            Ok(progress) => {
                inbound.resume = progress.map(Arc::new);
                return true;
            }
            Err(error) => {
                tracing::error!(session = %inbound.key(), %error, "a suspended turn cannot be read")
            }
        }
    }
}

async fn progress_of(
    engine: &Engine,
    inbound: &Inbound,
    control: &RunControl,
) -> Result<Option<Progress>, StoreError> {
    let progress = engine.0.log.progress_of(&inbound.turn).await?;
    // What the run took along and did not get into the transcript is told to it again.
    let mut untold = Vec::new();
    for message in control.taken() {
        if !engine.was_asked(&message, progress.as_ref()).await? {
            untold.push(message.turn);
        }
    }
    control.tell_again(&untold);
    Ok(progress)
}

/// A turn that was stopped before the model was asked, and the messages that it would have answered.
async fn stopped(
    engine: &Engine,
    key: &SessionKey,
    mut inbound: Inbound,
    done: Option<oneshot::Sender<TurnReport>>,
    joined: Vec<Arc<Queued>>,
    control: &RunControl,
) -> Ended {
    // The others speak for themselves.
    inbound.prompt = PromptSource::Message;
    let (steered, late) = control.close();
    let original = |asked: QueuedTurn| asked.done.is_some().then(|| queued(asked));
    let own = queued(QueuedTurn { inbound, done });
    let steered = steered.into_iter().filter_map(original);
    let messages: Vec<Arc<Queued>> = joined.into_iter().chain([own]).chain(steered).collect();
    let unanswered: Vec<&Inbound> = messages.iter().map(|message| &message.inbound).collect();
    let reason = NotAnsweredReason::Stopped;
    let reports = engine.give_up(key, &unanswered, reason).await;
    engine.leave_unanswered(key, &unanswered, reason).await;
    engine.0.lanes.done(key, messages.len());
    let reports = messages.iter().zip(reports);
    let reports = reports.filter_map(|(message, report)| Some((unpoisoned(&message.done).take()?, report)));
    let late = late.into_iter().filter(|asked| asked.done.is_some()).collect();
    Ended { reports: reports.collect(), late, ending: None }
}

/// The run answers for messages that waited.
async fn note_joined(engine: &Engine, run: &TurnId, joined: &[Arc<Queued>]) {
    for message in joined {
        let step = Step::Begun { run: run.clone() };
        if let Err(error) = engine.0.log.note(&message.inbound.turn, [step]).await {
            tracing::warn!(%error, "a message that joins a run was not noted");
        }
    }
}

/// Where the answer to a message goes.
pub(crate) fn route(inbound: &Inbound) -> FollowupRoute {
    if let PromptSource::Queued { route, .. } = &inbound.prompt {
        return route.clone();
    }
    if let ReplyTo::Address(DeliveryContext { channel, to, account, thread }) = inbound.reply_to.clone() {
        return FollowupRoute { channel, to, account, thread };
    }
    let message = &inbound.message;
    FollowupRoute {
        channel: message.originating_channel.clone(),
        to: message
            .originating_to
            .clone()
            .or_else(|| message.to.clone().filter(|_| message.originating_channel.is_some())),
        account: message.account_id.clone(),
        thread: message.message_thread_id.clone(),
    }
}

/// The same as an address.
pub(crate) fn address(inbound: &Inbound) -> Option<DeliveryContext> {
    let FollowupRoute { channel, to, account, thread } = route(inbound);
    let context = DeliveryContext { channel, to, account, thread };
    context.channel.is_some().then_some(context)
}
