//! A turn of the conversation: what is wanted, what tools have said so far, and what comes next.
//!
//! There is no state: the turn is read from the messages each time. A wish that was carried out is
//! recognised by its call, so that no call is ever made twice in a turn.

use serde_json::json;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::message::{Block, Message, Role};
use yabby_domain::seam::model::ModelRequest;
use yabby_domain::text;

use super::facts::facts;
use super::prompt::{self, Part};
use super::reply::{self, Setting};
use super::wish::{Wish, wishes};
use super::{Call, Move, quote, today};

/// How many times tools are called in a turn, whatever happens. People may go on writing meanwhile, so
/// this is more than one question takes.
const MOST_ROUNDS: usize = 8;
/// How long something to remember may be, in units.
const LONGEST_NOTE: usize = 2000;

/// The messages since the last answer.
pub(super) struct Turn<'r> {
    pub(super) said: Vec<Part>,
    pub(super) calls: Vec<Made<'r>>,
    /// How many answers called tools.
    rounds: usize,
    /// Nobody has answered anything before.
    is_first: bool,
}

/// A call that was made, and what became of it.
pub(super) struct Made<'r> {
    pub(super) tool: &'r str,
    pub(super) arguments: Option<&'r Object>,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done(String),
    Failed(String),
    /// Nobody knows what happened.
    Interrupted,
}

impl<'r> Turn<'r> {
    pub(super) fn of(messages: &'r [Message]) -> Self {
        let is_answer =
            |message: &Message| message.role() == Role::Assistant && calls(message).next().is_none();
        let begins = messages.iter().rposition(is_answer).map_or(0, |at| at + 1);
        let turn = &messages[begins..];
        let mut results: Vec<&Message> =
            turn.iter().filter(|message| message.role() == Role::ToolResult).collect();
        let mut made = Vec::new();
        for (id, tool, arguments) in turn.iter().flat_map(calls) {
            let place = results.iter().position(|result| result.text_field("toolCallId") == id);
            let outcome = place.map_or(Outcome::Interrupted, |at| outcome(tool, results.remove(at)));
            made.push(Made { tool, arguments, outcome });
        }
        let is_summary =
            |message: &Message| prompt::texts(message).iter().any(|text| prompt::is_summary(text));
        Self {
            said: turn
                .iter()
                .filter(|message| message.role() == Role::User)
                .flat_map(prompt::parts)
                .collect(),
            calls: made,
            rounds: turn.iter().filter(|message| calls(message).next().is_some()).count(),
            is_first: begins == 0 && !messages.iter().any(is_summary),
        }
    }

    /// What became of a call, if it was made.
    fn outcome(&self, call: &Call) -> Option<&Outcome> {
        let same = |made: &&Made<'_>| made.tool == call.tool && made.arguments == Some(&call.arguments);
        self.calls.iter().find(same).map(|made| &made.outcome)
    }

    /// The file in which a line was noted, and what became of that.
    fn noted(&self, line: &str) -> Option<(&str, &Outcome)> {
        self.calls.iter().filter(|made| made.tool == "write").find_map(|made| {
            let field = |name: &str| made.arguments?.get(name)?.as_str();
            let holds = field("content").is_some_and(|content| content.lines().any(|noted| noted == line));
            holds.then(|| (field("path").unwrap_or("the memory"), &made.outcome))
        })
    }
}

/// Id, tool and arguments of every call in a message.
fn calls(message: &Message) -> impl Iterator<Item = (Option<&str>, &str, Option<&Object>)> {
    let is_assistant = message.role() == Role::Assistant;
    message.blocks().iter().filter(move |_| is_assistant).filter_map(|block| match Block::of(block) {
        Block::ToolCall(call) => {
            Some((call.id, call.name.unwrap_or_default(), call.arguments.and_then(Value::as_object)))
        }
        _ => None,
    })
}

fn outcome(tool: &str, result: &Message) -> Outcome {
    let told = prompt::texts(result).join("\n");
    let is_error = result.get("isError").is_some_and(json::truthy);
    // What a tool read may say anything; one that writes speaks of itself.
    let speaks_of_itself = is_error || tool == "write";
    let lowered = text::lower(&told);
    let signs = ["interrupted", "missing tool result", "aborted", "cancelled"];
    match signs.iter().any(|sign| lowered.contains(sign)) {
        true if speaks_of_itself => Outcome::Interrupted,
        _ if is_error => Outcome::Failed(told),
        _ => Outcome::Done(told),
    }
}

/// What comes next: calls that the wishes need, or the answer.
pub(super) fn next(request: &ModelRequest) -> Move {
    let turn = Turn::of(&request.messages);
    let mut plan = Plan::new(request, &turn);
    for part in &turn.said {
        plan.hear(part);
    }
    plan.next()
}

struct Plan<'r> {
    request: &'r ModelRequest,
    turn: &'r Turn<'r>,
    heard: Vec<Wish>,
    calls: Vec<Call>,
    /// Lines for the memory that are not written yet.
    notes: Vec<String>,
    replies: Vec<String>,
    /// Something was not understood.
    is_lost: bool,
}

impl<'r> Plan<'r> {
    fn new(request: &'r ModelRequest, turn: &'r Turn<'r>) -> Self {
        Self {
            request,
            turn,
            heard: Vec::new(),
            calls: Vec::new(),
            notes: Vec::new(),
            replies: Vec::new(),
            is_lost: false,
        }
    }

    fn hear(&mut self, part: &Part) {
        if part.lost_messages {
            self.replies.push(reply::LOST_MESSAGES.to_owned());
        }
        if part.has_media {
            self.replies.push(reply::MEDIA.to_owned());
        }
        for wish in wishes(&part.text) {
            if self.heard.contains(&wish) {
                continue;
            }
            self.heard.push(wish.clone());
            self.consider(wish, part);
        }
    }

    fn consider(&mut self, wish: Wish, part: &Part) {
        match wish {
            Wish::Remember(what) if what.is_empty() => self.replies.push(reply::WHAT_TO_REMEMBER.to_owned()),
            Wish::Remember(what) => self.remember(&what, part.from.as_deref()),
            Wish::Recall(topic) if topic.is_empty() => {
                let memory = arguments(json!({"path": "memory"}));
                self.with_tool("list_files", memory, |outcome| (None, reply::everything_known(outcome)));
            }
            Wish::Recall(topic) => self.recall(&topic),
            Wish::List { path, recursive } => {
                let mut wanted = json!({});
                if let Some(path) = &path {
                    wanted["path"] = path.as_str().into();
                }
                if recursive {
                    wanted["recursive"] = true.into();
                }
                self.with_tool("list_files", arguments(wanted), |outcome| {
                    (None, reply::listing(path.as_deref(), outcome))
                });
            }
            Wish::Read(path) => {
                let wanted = arguments(json!({"path": path}));
                self.with_tool("read", wanted, |outcome| (None, reply::file(&path, outcome)));
            }
            Wish::Status => {
                self.with_tool("session_status", Object::new(), |outcome| (None, reply::status(outcome)));
            }
            Wish::Clock => {
                let time = part.stamp.clone().or_else(|| today::last_message(self.request));
                self.replies.push(reply::clock(time.as_deref()));
            }
            Wish::Heartbeat => self.replies.push(reply::HEARTBEAT.to_owned()),
            Wish::Greeting => self.replies.push(reply::GREETING.to_owned()),
            Wish::NewSession => self.replies.push(reply::NEW_SESSION.to_owned()),
            Wish::Thanks => self.replies.push(reply::WELCOME.to_owned()),
            Wish::Agreement => self.replies.push(reply::AGREED.to_owned()),
            Wish::Help => {
                self.is_lost = true;
                self.replies.push(reply::HELP.to_owned());
            }
            Wish::Unclear(words) if !facts(&words).is_empty() => {
                self.replies.push(reply::worth_noting(&words))
            }
            Wish::Unclear(words) => {
                self.is_lost = true;
                self.replies.push(reply::unclear(&words));
            }
        }
    }

    fn remember(&mut self, what: &str, from: Option<&str>) {
        let line = note(what, from);
        match self.turn.noted(&line) {
            Some((path, outcome)) => self.replies.push(reply::noted(&line, path, outcome)),
            None if self.offers("write") => self.notes.push(line),
            None => self.replies.push(reply::no_tool("write", "note that")),
        }
    }

    fn recall(&mut self, topic: &str) {
        let wanted = arguments(json!({"query": topic}));
        let (turn, offers_get) = (self.turn, self.offers("memory_get"));
        self.with_tool("memory_search", wanted, |outcome| {
            // A note that did not fit into the result is read in full.
            let more = reply::best_is_cut(outcome).filter(|_| offers_get).map(|place| Call {
                tool: "memory_get",
                arguments: arguments(json!({"path": place.path, "from": place.first, "lines": place.count})),
            });
            let whole = more.as_ref().and_then(|more| turn.outcome(more));
            let answer = reply::recalled(topic, outcome, whole);
            (more.filter(|_| whole.is_none()), answer)
        });
    }

    /// Makes a call, or reads what became of it: a further call, or something to say.
    fn with_tool(
        &mut self,
        tool: &'static str,
        arguments: Object,
        read: impl FnOnce(&Outcome) -> (Option<Call>, String),
    ) {
        let call = Call { tool, arguments };
        let turn = self.turn;
        match turn.outcome(&call) {
            Some(outcome) => {
                let (more, words) = read(outcome);
                self.calls.extend(more);
                self.replies.push(words);
            }
            None if self.offers(tool) => self.calls.push(call),
            None => self.replies.push(reply::no_tool(tool, "do that")),
        }
    }

    fn offers(&self, tool: &str) -> bool {
        self.turn.rounds < MOST_ROUNDS && self.request.tools.iter().any(|offered| offered.name == tool)
    }

    fn next(mut self) -> Move {
        if !self.notes.is_empty() {
            let path = note_file(today::date(self.request).as_deref());
            let content = self.notes.join("\n") + "\n";
            let call = arguments(json!({"path": path, "content": content, "mode": "append"}));
            self.calls.insert(0, Call { tool: "write", arguments: call });
        }
        if !self.calls.is_empty() && self.turn.rounds < MOST_ROUNDS {
            return Move::Call(self.calls);
        }
        if self.heard == [Wish::Heartbeat] {
            return Move::Say(reply::HEARTBEAT.to_owned());
        }
        self.replies.retain(|reply| reply != reply::HEARTBEAT);
        if self.replies.is_empty() {
            // Nobody said anything: results of calls whose question is gone, or notices alone.
            self.replies
                .extend(self.turn.calls.iter().map(|made| reply::left_over(made.tool, &made.outcome)));
        }
        if self.replies.is_empty() {
            return Move::Say(reply::SILENCE.to_owned());
        }
        let setting = Setting { is_first: self.turn.is_first, is_lost: self.is_lost };
        self.replies.extend(reply::notice(setting).map(str::to_owned));
        Move::Say(quote::audible(self.replies.join("\n\n")))
    }
}

pub(super) fn arguments(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

/// The file that takes the notes of a day; where no day is known, the one for good.
pub(super) fn note_file(date: Option<&str>) -> String {
    date.map_or_else(|| "MEMORY.md".to_owned(), |date| format!("memory/{date}.md"))
}

/// A line of a note, and who said it where several may.
pub(super) fn note(what: &str, from: Option<&str>) -> String {
    let what = quote::shortened(text::trim(&text::collapse_spaces(what)), LONGEST_NOTE);
    match from {
        Some(from) => format!("- {what} (said by {from})"),
        None => format!("- {what}"),
    }
}
