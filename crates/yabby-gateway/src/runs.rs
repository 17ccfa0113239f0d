//! Runs, as clients see them: what the engine does becomes `agent` and `chat` events (`gateway.md` §5.2, §5.3).
//!
//! One task, [`watch`], tells everything about runs, and what they ask people, in the order in which it happened.
//! Whoever waits for a turn hands its report to that task, which is done with everything before it.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;
use yabby_domain::config::word::Word;
use yabby_domain::directive::level::{Level as _, VerboseLevel};
use yabby_domain::json::{self, Object, Value};
use yabby_domain::message::Message;
use yabby_domain::reply::parse::ParsedReply;
use yabby_domain::reply::tokens::SILENT_TOKEN;
use yabby_domain::session::key::SessionKey;
use yabby_domain::text;
use yabby_domain::transcript::pieces::asked;
use yabby_domain::turn::{Outcome, TurnId};
use yabby_engine::TurnReport;
use yabby_engine::events::{EngineEvent, EventKind, Listener, Unheard};

use crate::frames::Event;
use crate::hub::Weight;
use crate::{Gateway, unpoisoned};

/// How often the words of a run are told at most. What comes in between is told together: every event holds the
/// whole text.
const WORDS: Duration = Duration::from_millis(25);
/// The same for conversations in a browser.
const DELTAS: Duration = Duration::from_millis(150);
/// How much of a run is told in a millisecond: every event holds the whole text, and nobody could read on if those of a
/// long one came as often as those of a short one.
const BYTES_PER_MS: usize = 2 * 1024;
/// How long it is known how a run ended.
const REMEMBERED_MS: i64 = 10 * 60_000;
/// Of how many runs at most.
const MAX_REMEMBERED: usize = 1000;

/// A run that clients may hear of.
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) turn: TurnId,
    pub(crate) key: SessionKey,
    /// The key as whoever asked wrote it.
    pub(crate) told_key: String,
    /// Who sees which tools are called: the connection that asked, if it wants to.
    watcher: Option<String>,
    /// Its message is on record.
    is_recorded: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seq: u64,
    started_at: Option<i64>,
    ended: Option<Ended>,
    /// What the message that is being written says so far, as it comes.
    raw: String,
    /// The same as it was told last.
    told: String,
    /// The message is complete; the next word begins another one.
    is_over: bool,
    words_at: Option<Instant>,
    delta_at: Option<Instant>,
    /// Somebody stopped it, and nothing more is told of it.
    is_silenced: bool,
    verbose: Option<VerboseLevel>,
    /// What tools were asked that have not answered yet, by call.
    asked: HashMap<String, String>,
    /// What happened before whoever asked was told that the run was accepted; it is told after that.
    held: Option<Vec<EngineEvent>>,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) started_at: Option<i64>,
    pub(crate) ended_at: i64,
    pub(crate) error: Option<String>,
}

/// What a turn came to, for the task that tells.
struct Done {
    run: Arc<Run>,
    ending: Ending,
    told: oneshot::Sender<()>,
}

/// What others say about runs, for the task that tells.
struct Noted {
    /// Whoever asked for it was told that it is accepted.
    acknowledged: mpsc::UnboundedReceiver<Arc<Run>>,
    done: mpsc::UnboundedReceiver<Done>,
}

/// Holds back what a run tells, until whoever asked for it was told that it is accepted.
pub(crate) struct Held {
    run: Arc<Run>,
    acknowledged: mpsc::UnboundedSender<Arc<Run>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.acknowledged.send(self.run.clone());
    }
}

/// What is told at the end.
pub(crate) enum Ending {
    /// What the model said, if it was asked.
    OfRun {
        aborted: bool,
    },
    /// The program itself answered.
    Injected(Option<Value>),
    /// The answer of a run that was complete before a restart.
    Replay(Option<Value>),
    /// The message was given up while it waited, and why.
    NotAnswered(String),
    Failed(String),
}

/// All runs that go on, and those that ended lately.
pub(crate) struct Runs {
    known: Mutex<Known>,
    changed: Notify,
    acknowledged: mpsc::UnboundedSender<Arc<Run>>,
    done: mpsc::UnboundedSender<Done>,
    noted: Mutex<Option<Noted>>,
}

#[derive(Default)]
struct Known {
    by_turn: HashMap<TurnId, Arc<Run>>,
    by_id: HashMap<String, Arc<Run>>,
    /// Runs that ended under the name of one that is not accepted yet, by its turn.
    before: HashMap<TurnId, Arc<Run>>,
    ended: VecDeque<(i64, String)>,
}

impl Default for Runs {
    fn default() -> Self {
        let (acknowledged, heard_of) = mpsc::unbounded_channel();
        let (done, ends) = mpsc::unbounded_channel();
        let noted = Mutex::new(Some(Noted { acknowledged: heard_of, done: ends }));
        Self { known: Mutex::default(), changed: Notify::new(), acknowledged, done, noted }
    }
}

impl Runs {
    /// A run for which nobody waits here.
    pub(crate) fn begin(&self, id: &str, turn: &TurnId, key: &SessionKey) -> Arc<Run> {
        let run = self.add(Run::new(id, turn, key));
        self.accepted(&run);
        run
    }

    /// A run that somebody asks for. It is accepted or forgotten next, and tells nothing while it is held.
    pub(crate) fn ask(
        &self,
        id: &str,
        turn: &TurnId,
        key: &SessionKey,
        told_key: &str,
        watcher: Option<String>,
    ) -> (Arc<Run>, Held) {
        let state = Mutex::new(State { held: Some(Vec::new()), ..State::default() });
        let run = self.add(Run { told_key: told_key.to_owned(), watcher, state, ..Run::new(id, turn, key) });
        let held = Held { run: run.clone(), acknowledged: self.acknowledged.clone() };
        (run, held)
    }

    /// One that goes on keeps its name until the other is accepted: that may be the same, asked for again.
    fn add(&self, run: Run) -> Arc<Run> {
        let mut known = unpoisoned(&self.known);
        if let Some(run) = known.by_turn.get(&run.turn) {
            return run.clone();
        }
        let run = Arc::new(run);
        known.by_turn.insert(run.turn.clone(), run.clone());
        let namesake = known.by_id.get(&run.id).cloned();
        let is_taken = namesake.as_ref().is_some_and(|other| known.by_turn.contains_key(&other.turn));
        if !is_taken {
            known.by_id.insert(run.id.clone(), run.clone());
            if let Some(ended) = namesake {
                known.before.insert(run.turn.clone(), ended);
            }
        }
        run
    }

    /// A run that came about.
    pub(crate) fn accepted(&self, run: &Arc<Run>) {
        let mut known = unpoisoned(&self.known);
        known.before.remove(&run.turn);
        known.by_id.insert(run.id.clone(), run.clone());
        run.is_recorded.store(true, Ordering::Relaxed);
        drop(known);
        self.changed.notify_waiters();
    }

    /// A run that did not come about after all.
    pub(crate) fn forget(&self, run: &Arc<Run>) {
        let mut known = unpoisoned(&self.known);
        known.by_turn.remove(&run.turn);
        let before = known.before.remove(&run.turn);
        if known.by_id.get(&run.id).is_some_and(|known| Arc::ptr_eq(known, run)) {
            known.by_id.remove(&run.id);
            if let Some(before) = before {
                known.by_id.insert(run.id.clone(), before);
            }
        }
        drop(known);
        self.changed.notify_waiters();
    }

    fn of_turn(&self, turn: &TurnId) -> Option<Arc<Run>> {
        unpoisoned(&self.known).by_turn.get(turn).cloned()
    }

    /// A run that goes on, by its name.
    pub(crate) fn active(&self, id: &str) -> Option<Arc<Run>> {
        let known = unpoisoned(&self.known);
        known.by_id.get(id).filter(|run| known.by_turn.contains_key(&run.turn)).cloned()
    }

    /// The run with this name that goes on, once its message is on record: a repeated request may be told of it only
    /// then. `None` if there is no such run, or its message could not be recorded.
    pub(crate) async fn recorded(&self, id: &str) -> Option<Arc<Run>> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let run = self.active(id)?;
            if run.is_recorded.load(Ordering::Relaxed) {
                return Some(run);
            }
            changed.await;
        }
    }

    /// The runs that go on in a session.
    pub(crate) fn active_in(&self, key: &SessionKey) -> Vec<Arc<Run>> {
        let mut runs = self.all();
        runs.retain(|run| run.key == *key && !run.is_silenced());
        runs
    }

    /// All runs that go on. Whoever tells of a run holds its state and then looks here: nobody looks at a state
    /// while holding what is known.
    fn all(&self) -> Vec<Arc<Run>> {
        unpoisoned(&self.known).by_turn.values().cloned().collect()
    }

    pub(crate) fn count(&self) -> usize {
        unpoisoned(&self.known).by_turn.len()
    }

    /// Comes back when a run has ended; how.
    pub(crate) async fn ended(&self, id: &str) -> Ended {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let run = unpoisoned(&self.known).by_id.get(id).cloned();
            let ended = run.and_then(|run| unpoisoned(&run.state).ended.clone());
            if let Some(ended) = ended {
                return ended;
            }
            changed.await;
        }
    }

    /// Comes back when the end of every run was told.
    pub(crate) async fn all_ended(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.count() == 0 {
                return;
            }
            changed.await;
        }
    }

    /// Tells the end of a run; comes back when everybody was told.
    pub(crate) async fn finish(&self, run: &Arc<Run>, ending: Ending) {
        let (told, heard) = oneshot::channel();
        if self.done.send(Done { run: run.clone(), ending, told }).is_ok() {
            let _ = heard.await;
        }
    }

    /// A run is over.
    fn close(&self, run: &Run, now: i64) {
        let mut known = unpoisoned(&self.known);
        if known.by_turn.remove(&run.turn).is_some() {
            known.ended.push_back((now, run.id.clone()));
        }
        while let Some((at, id)) = known.ended.front().cloned()
            && (now - at > REMEMBERED_MS || known.ended.len() > MAX_REMEMBERED)
        {
            known.ended.pop_front();
            let is_over = known.by_id.get(&id).is_some_and(|run| !known.by_turn.contains_key(&run.turn));
            if is_over {
                known.by_id.remove(&id);
            }
        }
        drop(known);
        self.changed.notify_waiters();
    }
}

impl Run {
    fn new(id: &str, turn: &TurnId, key: &SessionKey) -> Self {
        Self {
            id: id.to_owned(),
            turn: turn.clone(),
            key: key.clone(),
            told_key: key.as_str().to_owned(),
            watcher: None,
            is_recorded: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    /// Whether somebody stopped it.
    pub(crate) fn is_silenced(&self) -> bool {
        unpoisoned(&self.state).is_silenced
    }

    /// Says that somebody stopped it, and nothing after that; whether it was not over yet.
    pub(crate) fn silence(&self, gateway: &Gateway, reason: &str) -> bool {
        let mut state = unpoisoned(&self.state);
        if state.is_silenced || state.ended.is_some() {
            return false;
        }
        state.is_silenced = true;
        let seq = state.seq + 1;
        let payload = json!({
            "runId": self.id, "sessionKey": self.told_key, "seq": seq, "state": "aborted", "stopReason": reason,
        });
        gateway.tell_talk("chat", &payload, Weight::Needed);
        true
    }

    /// Tells one event of the run.
    fn tell(&self, gateway: &Gateway, state: &mut State, stream: &str, data: Value, to: Audience) {
        state.seq += 1;
        let payload = json!({
            "runId": self.id,
            "stream": stream,
            "data": data,
            "sessionKey": self.told_key,
            "seq": state.seq,
            "ts": gateway.now(),
        });
        match to {
            Audience::All => gateway.tell_talk("agent", &payload, Weight::Needed),
            Audience::Watcher => {
                let watcher = self.watcher.as_ref().and_then(|watcher| gateway.hub.find(watcher));
                if let Some(watcher) = watcher {
                    watcher.out.send(Event::new("agent", &payload, None).targeted());
                }
            }
            // It is counted all the same.
            Audience::Nobody => {}
        }
    }

    /// Tells what the message says by now. Where that is not what was told and more, it takes the place of it.
    fn tell_words(&self, gateway: &Gateway, state: &mut State, said: Shown) {
        let is_news = said.text != state.told || !said.media.is_empty();
        let delta = said.text.strip_prefix(state.told.as_str()).unwrap_or_default().to_owned();
        state.told.clone_from(&said.text);
        if !is_news || said.is_silent {
            return;
        }
        let now = Instant::now();
        state.words_at = Some(now);
        let mut data = json!({"text": said.text, "delta": delta});
        if let (Some(data), false) = (data.as_object_mut(), said.media.is_empty()) {
            data.insert("mediaUrls".to_owned(), said.media.into());
        }
        self.tell(gateway, state, "assistant", data, Audience::All);
        let interval = interval(DELTAS, said.text.len());
        let is_due = state.delta_at.is_none_or(|at| now.duration_since(at) >= interval);
        if is_due && !said.text.is_empty() {
            state.delta_at = Some(now);
            self.tell_chat(gateway, state.seq, "delta", Some(message(&said.text, gateway.now())));
        }
    }

    fn tell_chat(&self, gateway: &Gateway, seq: u64, name: &str, message: Option<Value>) {
        let mut payload = json!({"runId": self.id, "sessionKey": self.told_key, "seq": seq, "state": name});
        if let (Some(payload), Some(message)) = (payload.as_object_mut(), message) {
            payload.insert("message".to_owned(), message);
        }
        let weight = if name == "delta" { Weight::Droppable } else { Weight::Needed };
        gateway.tell_talk("chat", &payload, weight);
    }

    /// Whether there are words that were not told yet.
    fn has_words(state: &State) -> bool {
        !state.is_silenced && !state.raw.is_empty() && shown(settled(&state.raw)).text != state.told
    }
}

/// How long to wait between two events that hold a text of this length.
fn interval(shortest: Duration, bytes: usize) -> Duration {
    shortest.max(Duration::from_millis((bytes / BYTES_PER_MS) as u64))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    All,
    Watcher,
    Nobody,
}

struct Shown {
    text: String,
    media: Vec<String>,
    is_silent: bool,
}

/// What people see of a message.
fn shown(raw: &str) -> Shown {
    let parsed = ParsedReply::of(text::trim(raw), None, SILENT_TOKEN);
    let text = text::trim(&parsed.text).to_owned();
    Shown { text, media: parsed.sources, is_silent: parsed.is_silent }
}

/// The beginning of a message that is being written, as far as it will be shown whatever comes: without an end that
/// may yet become the word for silence, a tag, or the name of a file.
fn settled(raw: &str) -> &str {
    const FILE: &str = "MEDIA:";
    let line_at = raw.rfind('\n').map_or(0, |at| at + 1);
    let (above, line) = raw.split_at(line_at);
    let words = text::trim_start(line);
    if words.starts_with(FILE) || (!words.is_empty() && FILE.starts_with(words)) {
        return above;
    }
    let tag = line.rfind("[[").filter(|at| !line[*at..].contains("]]"));
    if let Some(at) = tag.or_else(|| line.ends_with('[').then(|| line.len() - 1)) {
        return &raw[..line_at + at];
    }
    let rest = raw.trim_end_matches(text::is_word);
    let is_silence = rest.len() < raw.len() && SILENT_TOKEN.starts_with(&raw[rest.len()..]);
    if is_silence { rest } else { raw }
}

/// A message of the agent, as conversations in a browser have it.
pub(crate) fn message(text: &str, now: i64) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}], "timestamp": now})
}

/// Tells everything about runs until the end.
pub(crate) async fn watch(gateway: Arc<Gateway>, mut events: Listener) {
    let Some(mut noted) = unpoisoned(&gateway.runs.noted).take() else { return };
    // Runs with words that were not told yet, and when they are.
    let mut waiting: VecDeque<(Instant, Arc<Run>)> = VecDeque::new();
    loop {
        let due = waiting.front().map(|(at, _)| *at);
        tokio::select! {
            // Nothing is held for longer than it must be, and whatever happened before a turn was done is told before
            // its end.
            biased;
            Some(run) = noted.acknowledged.recv() => {
                let held = unpoisoned(&run.state).held.take();
                for event in held.into_iter().flatten() {
                    tell_event(&gateway, event, &mut waiting).await;
                }
            }
            event = events.recv() => match event {
                Ok(event) => tell_event(&gateway, event, &mut waiting).await,
                Err(Unheard::Missed(missed)) => {
                    tracing::warn!(missed, "clients were not told everything");
                    end_lost(&gateway);
                }
                Err(Unheard::Nothing | Unheard::Over) => return,
            },
            () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                if let Some((_, run)) = waiting.pop_front() {
                    let mut state = unpoisoned(&run.state);
                    if Run::has_words(&state) {
                        let said = shown(settled(&state.raw));
                        run.tell_words(&gateway, &mut state, said);
                    }
                }
            }
            Some(Done { run, ending, told }) = noted.done.recv() => {
                tell_end(&gateway, &run, ending);
                let _ = told.send(());
            }
            () = gateway.ending.cancelled() => return,
        }
    }
}

/// Ends runs that nobody waits for and whose end was missed.
fn end_lost(gateway: &Arc<Gateway>) {
    let busy = gateway.engine.busy();
    for run in gateway.runs.all() {
        if run.watches_itself() && !busy.contains(&run.key) {
            tell_end(gateway, &run, Ending::OfRun { aborted: false });
        }
    }
}

/// Tells one thing that happened.
async fn tell_event(gateway: &Arc<Gateway>, event: EngineEvent, waiting: &mut VecDeque<(Instant, Arc<Run>)>) {
    let Some(turn) = &event.turn else { return gateway.tell_approval(event) };
    let run = match (gateway.runs.of_turn(turn), &event.kind) {
        (Some(run), _) => run,
        // Nobody asked here: a subagent, or what was left to do after a crash.
        (None, EventKind::RunStarted { run_id, .. }) => {
            let id = run_id.as_deref().unwrap_or(turn.as_str());
            gateway.runs.begin(id, turn, &event.session)
        }
        (None, _) => return,
    };
    if let Some(held) = &mut unpoisoned(&run.state).held {
        held.push(event);
        return;
    }
    let verbose = match &event.kind {
        EventKind::RunStarted { .. } if run.watcher.is_some() => Some(verbosity(gateway, &run.key).await),
        _ => None,
    };
    let mut state = unpoisoned(&run.state);
    state.verbose = verbose.or(state.verbose);
    if state.is_silenced {
        if let EventKind::RunEnded { .. } = event.kind {
            end(gateway, &run, &mut state, event.at, None);
        }
        return;
    }
    match event.kind {
        EventKind::RunStarted { .. } => {
            state.started_at.get_or_insert(event.at);
            let data = json!({"phase": "start", "startedAt": event.at});
            run.tell(gateway, &mut state, "lifecycle", data, Audience::All);
        }
        EventKind::Text(words) => {
            if std::mem::take(&mut state.is_over) {
                state.raw.clear();
                state.told.clear();
            }
            state.raw.push_str(&words);
            let now = Instant::now();
            let due = state.words_at.map_or(now, |at| at + interval(WORDS, state.raw.len()));
            if due <= now {
                let said = shown(settled(&state.raw));
                run.tell_words(gateway, &mut state, said);
            } else if !waiting.iter().any(|(_, other)| Arc::ptr_eq(other, &run)) {
                let place = waiting.partition_point(|(at, _)| *at <= due);
                waiting.insert(place, (due, run.clone()));
            }
        }
        EventKind::Called(_) => {
            let said = shown(&state.raw);
            run.tell_words(gateway, &mut state, said);
            state.is_over = true;
        }
        EventKind::ToolStarted { call, tool, arguments } => {
            let said = shown(&state.raw);
            run.tell_words(gateway, &mut state, said);
            if let Some(arguments) = arguments.as_object().filter(|arguments| !arguments.is_empty()) {
                state.asked.insert(call.clone(), asked(arguments));
            }
            let data = json!({"phase": "start", "name": tool, "toolCallId": call, "args": arguments});
            let to = seen_by(&state);
            run.tell(gateway, &mut state, "tool", data, to);
        }
        EventKind::ToolEnded { call, tool, result } => {
            let asked = state.asked.remove(&call);
            let data = ended_tool(&call, &tool, asked, &result, state.verbose);
            let to = seen_by(&state);
            run.tell(gateway, &mut state, "tool", data, to);
        }
        // One that a command asked for is told by its answer.
        EventKind::CompactionStarted { .. } | EventKind::CompactionEnded { .. }
            if state.started_at.is_none() => {}
        EventKind::CompactionStarted { .. } => {
            run.tell(gateway, &mut state, "compaction", json!({"phase": "start"}), Audience::All);
        }
        EventKind::CompactionEnded { will_retry, .. } => {
            let data = json!({"phase": "end", "willRetry": will_retry});
            run.tell(gateway, &mut state, "compaction", data, Audience::All);
        }
        EventKind::RunEnded { outcome, error } if run.watches_itself() => {
            drop(state);
            let ending = match (outcome, error) {
                (Outcome::Failed, Some(error)) => Ending::Failed(error),
                (outcome, _) => Ending::OfRun { aborted: outcome == Outcome::Aborted },
            };
            tell_end(gateway, &run, ending);
        }
        _ => {}
    }
}

impl Run {
    /// Nobody waits for its report.
    fn watches_itself(&self) -> bool {
        self.id == self.turn.as_str()
    }
}

/// Tells the end of a run, once.
fn tell_end(gateway: &Arc<Gateway>, run: &Arc<Run>, ending: Ending) {
    let mut state = unpoisoned(&run.state);
    let now = gateway.now();
    let mut failure = None;
    if !state.is_silenced && state.ended.is_none() {
        match ending {
            Ending::OfRun { aborted } if state.started_at.is_some() => {
                let said = shown(&state.raw);
                run.tell_words(gateway, &mut state, said);
                let mut data = json!({"phase": "end", "endedAt": now});
                if let (Some(data), true) = (data.as_object_mut(), aborted) {
                    data.insert("aborted".to_owned(), true.into());
                }
                run.tell(gateway, &mut state, "lifecycle", data, Audience::All);
                let last = (!state.told.is_empty()).then(|| message(&state.told, now));
                run.tell_chat(gateway, state.seq, "final", last);
            }
            Ending::OfRun { .. } => {
                state.seq += 1;
                run.tell_chat(gateway, state.seq, "final", None);
            }
            Ending::Injected(message) => {
                state.seq += 1;
                run.tell_chat(gateway, state.seq, "final", message);
            }
            Ending::Replay(message) => {
                state.seq += 1;
                let mut payload = json!({
                    "runId": run.id, "sessionKey": run.told_key, "seq": state.seq, "state": "final", "replay": true,
                });
                if let (Some(payload), Some(message)) = (payload.as_object_mut(), message) {
                    payload.insert("message".to_owned(), message);
                }
                gateway.tell_talk("chat", &payload, Weight::Needed);
            }
            Ending::NotAnswered(why) => {
                state.seq += 1;
                let payload = json!({
                    "runId": run.id, "sessionKey": run.told_key, "seq": state.seq, "state": "aborted",
                    "stopReason": "not-answered", "errorMessage": why,
                });
                gateway.tell_talk("chat", &payload, Weight::Needed);
            }
            Ending::Failed(error) => {
                if state.started_at.is_some() {
                    let data = json!({"phase": "error", "endedAt": now, "error": error});
                    run.tell(gateway, &mut state, "lifecycle", data, Audience::All);
                } else {
                    state.seq += 1;
                }
                let payload = json!({
                    "runId": run.id, "sessionKey": run.told_key, "seq": state.seq, "state": "error",
                    "errorMessage": error,
                });
                gateway.tell_talk("chat", &payload, Weight::Needed);
                failure = Some(error);
            }
        }
    }
    end(gateway, run, &mut state, now, failure);
}

fn end(gateway: &Gateway, run: &Run, state: &mut State, at: i64, error: Option<String>) {
    if state.ended.is_none() {
        state.ended = Some(Ended { started_at: state.started_at, ended_at: at, error });
        // What was said is in the conversation.
        (state.raw, state.told, state.asked) = Default::default();
        gateway.runs.close(run, at);
    }
}

/// Who sees which tools are called.
fn seen_by(state: &State) -> Audience {
    match state.verbose {
        Some(VerboseLevel::On | VerboseLevel::Full) => Audience::Watcher,
        Some(VerboseLevel::Off) | None => Audience::Nobody,
    }
}

/// How much a session wants to hear of its runs.
async fn verbosity(gateway: &Gateway, key: &SessionKey) -> VerboseLevel {
    let entry = match gateway.engine.home(&key.agent_id()) {
        Ok(home) => home.sessions.get(key).await.ok().flatten(),
        Err(_) => None,
    };
    let config = gateway.config();
    let configured = config.agents.defaults.verbose_default.as_ref().map(Word::as_str);
    let level = entry.as_ref().and_then(|entry| entry.verbose_level()).or(configured);
    level.and_then(VerboseLevel::parse).unwrap_or(VerboseLevel::Off)
}

/// What a tool came to; all of it only for those who want to see everything.
fn ended_tool(
    call: &str,
    tool: &str,
    asked: Option<String>,
    result: &Message,
    verbose: Option<VerboseLevel>,
) -> Value {
    let field = |name: &str| result.get(name).cloned();
    let mut data = Object::new();
    data.insert("phase".to_owned(), "result".into());
    data.insert("name".to_owned(), tool.into());
    data.insert("toolCallId".to_owned(), call.into());
    if let Some(asked) = asked {
        data.insert("meta".to_owned(), asked.into());
    }
    data.insert("isError".to_owned(), field("isError").unwrap_or(false.into()));
    if verbose == Some(VerboseLevel::Full) {
        let mut told = Object::new();
        told.insert("content".to_owned(), field("content").unwrap_or_default());
        if let Some(details) = field("details") {
            told.insert("details".to_owned(), details);
        }
        data.insert("result".to_owned(), Value::Object(told));
    }
    Value::Object(data)
}

/// How a turn ended, as its clients are told.
pub(crate) fn ending_of(report: &TurnReport, injected: Option<Value>) -> Ending {
    match (&report.error, report.outcome, report.asked_model()) {
        (Some(error), Outcome::Failed, false) => Ending::Failed(error.clone()),
        (_, Outcome::Answered, false) => Ending::Injected(injected),
        (_, Outcome::Aborted | Outcome::Dropped, false) => {
            let texts = report.payloads.iter().filter_map(|payload| payload.text.as_deref());
            Ending::NotAnswered(texts.collect::<Vec<_>>().join("\n"))
        }
        (_, outcome, _) => Ending::OfRun { aborted: outcome == Outcome::Aborted },
    }
}

/// Milliseconds, as events have them.
pub(crate) fn ms(at: i64) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
    json::number(at as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_told_less_often() {
        const KB: usize = 1024;
        //  length     words ms  deltas ms
        let table = [
            (0, 25, 150),
            (50 * KB, 25, 150),
            (100 * KB, 50, 150),
            (2 * KB * KB, 1024, 1024),
            (8 * KB * KB, 4096, 4096),
        ];
        for (bytes, words, deltas) in table {
            let intervals = [WORDS, DELTAS].map(|shortest| interval(shortest, bytes).as_millis());
            assert_eq!(intervals, [words, deltas], "{bytes}");
        }
    }
}
