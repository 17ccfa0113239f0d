//! Messages that wait for a run to end, and the runs they become (`sessions.md` §18).

use std::collections::{BTreeSet, VecDeque};

use super::{DropPolicy, QueueMode, QueueSettings};
use crate::channel::{self, WEBCHAT};
use crate::inbound::ThreadId;
use crate::text;

/// Stands above messages that are told together.
pub const QUEUE_TITLE: &str = "[Queued messages while agent was busy]";
/// A line of a summary is no longer, in UTF-16 units.
const MAX_SUMMARY_LINE: usize = 160;

/// Where an answer goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FollowupRoute {
    pub channel: Option<String>,
    pub to: Option<String>,
    pub account: Option<String>,
    pub thread: Option<ThreadId>,
}

/// A message that waits. `S` are the settings of the run it will become.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting<S> {
    pub prompt: String,
    pub message_id: Option<String>,
    /// What is kept of it if it has to give way; else the prompt.
    pub summary_line: Option<String>,
    pub route: FollowupRoute,
    pub run: S,
}

/// A run to be started.
#[derive(Clone, Debug, PartialEq)]
pub struct FollowupRun<S> {
    pub prompt: String,
    pub route: FollowupRoute,
    pub run: S,
}

/// How a message that waits already is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dedupe {
    Never,
    ByMessageId,
    /// By its prompt where it has no id.
    ByPrompt,
}

/// What the queue wants next.
#[derive(Clone, Debug, PartialEq)]
pub enum Drain<S> {
    /// Nothing waits any more.
    Done,
    /// Somebody is still writing; ask again at this time (milliseconds since 1970).
    Wait(f64),
    Run(FollowupRun<S>),
}

/// The queue of one session.
#[derive(Clone, Debug)]
pub struct FollowupQueue<S> {
    settings: QueueSettings,
    waiting: VecDeque<Waiting<S>>,
    last_enqueued_at: f64,
    last_run: Option<S>,
    dropped: usize,
    summary: VecDeque<String>,
    /// Routes differed, so this drain takes one message at a time.
    one_by_one: bool,
}

impl<S: Clone> FollowupQueue<S> {
    pub fn new(settings: QueueSettings) -> Self {
        Self {
            settings,
            waiting: VecDeque::new(),
            last_enqueued_at: 0.0,
            last_run: None,
            dropped: 0,
            summary: VecDeque::new(),
            one_by_one: false,
        }
    }

    /// Every message brings the settings that hold from then on.
    pub fn set_settings(&mut self, settings: QueueSettings) {
        self.settings = settings;
    }

    pub fn settings(&self) -> &QueueSettings {
        &self.settings
    }

    pub fn waiting(&self) -> impl Iterator<Item = &Waiting<S>> {
        self.waiting.iter()
    }

    /// Takes the first such message out of the queue, as if it had never waited.
    pub fn remove(&mut self, is_it: impl Fn(&S) -> bool) -> Option<Waiting<S>> {
        let at = self.waiting.iter().position(|waiting| is_it(&waiting.run))?;
        self.waiting.remove(at)
    }

    /// How many messages gave way, and what is remembered of the last of them.
    pub fn dropped(&self) -> (usize, impl Iterator<Item = &str>) {
        (self.dropped, self.summary.iter().map(String::as_str))
    }

    /// Whether the message waits now. A message that is refused still shows that somebody is writing;
    /// a repeated one does not.
    pub fn enqueue(&mut self, message: Waiting<S>, dedupe: Dedupe, now: f64) -> bool {
        if self.is_waiting(&message, dedupe) {
            return false;
        }
        self.last_enqueued_at = now;
        self.last_run = Some(message.run.clone());
        if !self.make_room() {
            return false;
        }
        self.waiting.push_back(message);
        true
    }

    fn is_waiting(&self, message: &Waiting<S>, dedupe: Dedupe) -> bool {
        let id =
            |message: &Waiting<S>| message.message_id.as_deref().and_then(text::non_blank).map(str::to_owned);
        let same: &dyn Fn(&Waiting<S>) -> bool = match (dedupe, id(message)) {
            (Dedupe::Never, _) | (Dedupe::ByMessageId, None) => return false,
            (_, Some(known)) => &move |other| id(other).as_ref() == Some(&known),
            (Dedupe::ByPrompt, None) => &|other| other.prompt == message.prompt,
        };
        self.waiting.iter().any(|other| same(other) && other.route == message.route)
    }

    /// Whether there is room for one more, after the drop policy was carried out.
    fn make_room(&mut self) -> bool {
        let cap = self.settings.cap.max(1);
        if self.waiting.len() < cap {
            return true;
        }
        if self.settings.drop == DropPolicy::New {
            return false;
        }
        let surplus = (self.waiting.len() + 1).saturating_sub(cap);
        for message in self.waiting.drain(..surplus) {
            if self.settings.drop == DropPolicy::Summarize {
                let line = message.summary_line.as_deref().and_then(text::non_blank);
                let line = text::collapse_spaces(text::trim(line.unwrap_or(&message.prompt)));
                self.summary.push_back(elide(&line, MAX_SUMMARY_LINE));
                self.dropped += 1;
            }
        }
        self.summary.drain(..self.summary.len().saturating_sub(cap));
        true
    }

    /// The next run, taken out of the queue.
    pub fn drain(&mut self, now: f64) -> Drain<S> {
        if self.settings.drop != DropPolicy::Summarize {
            // Nobody will ask for the summary any more.
            self.forget_dropped();
        }
        if self.waiting.is_empty() && self.dropped == 0 {
            self.one_by_one = false;
            return Drain::Done;
        }
        let ready_at = self.last_enqueued_at + self.settings.debounce_ms;
        if now < ready_at {
            return Drain::Wait(ready_at);
        }
        let run = match self.settings.mode {
            QueueMode::Collect => self.next_collected(),
            QueueMode::Steer | QueueMode::Followup | QueueMode::SteerBacklog | QueueMode::Interrupt => {
                self.overflow_run().or_else(|| self.next_single())
            }
        };
        run.map_or(Drain::Done, Drain::Run)
    }

    fn next_collected(&mut self) -> Option<FollowupRun<S>> {
        self.one_by_one = !self.waiting.is_empty() && (self.one_by_one || self.routes_differ());
        if self.one_by_one {
            return self.next_single();
        }
        let summary = self.take_summary();
        let messages: Vec<Waiting<S>> = self.waiting.drain(..).collect();
        let run = messages.last().map(|message| message.run.clone()).or_else(|| self.last_run.clone())?;
        let first = |part: fn(&FollowupRoute) -> &Option<String>| {
            let given = |route: &FollowupRoute| part(route).clone().filter(|part| !part.is_empty());
            messages.iter().find_map(|message| given(&message.route))
        };
        let route = FollowupRoute {
            channel: first(|route| &route.channel),
            to: first(|route| &route.to),
            account: first(|route| &route.account),
            thread: messages.iter().find_map(|message| numeric_thread(&message.route)),
        };
        let blocks = messages.iter().enumerate().map(|(at, message)| {
            text::trim(&format!("---\nQueued #{}\n{}", at + 1, message.prompt)).to_owned()
        });
        let title = QUEUE_TITLE.to_owned();
        let prompt = std::iter::once(title).chain(summary).chain(blocks).collect::<Vec<_>>().join("\n\n");
        Some(FollowupRun { prompt, route, run })
    }

    fn next_single(&mut self) -> Option<FollowupRun<S>> {
        let Waiting { prompt, route, run, .. } = self.waiting.pop_front()?;
        Some(FollowupRun { prompt, route, run })
    }

    /// A run that tells of the messages that gave way.
    fn overflow_run(&mut self) -> Option<FollowupRun<S>> {
        let run = self.last_run.clone()?;
        let prompt = self.take_summary()?;
        Some(FollowupRun { prompt, route: FollowupRoute::default(), run })
    }

    fn take_summary(&mut self) -> Option<String> {
        if self.dropped == 0 {
            return None;
        }
        let plural = if self.dropped == 1 { "" } else { "s" };
        let mut lines =
            vec![format!("[Queue overflow] Dropped {} message{plural} due to cap.", self.dropped)];
        if !self.summary.is_empty() {
            lines.push("Summary:".to_owned());
            lines.extend(self.summary.iter().map(|line| format!("- {line}")));
        }
        self.forget_dropped();
        Some(lines.join("\n"))
    }

    fn forget_dropped(&mut self) {
        self.dropped = 0;
        self.summary.clear();
    }

    /// Whether one answer could not reach everybody.
    fn routes_differ(&self) -> bool {
        let mut places = BTreeSet::new();
        let mut nowhere = false;
        for message in &self.waiting {
            match Destination::of(&message.route) {
                Destination::Unknown => nowhere = true,
                Destination::Unreachable => return true,
                Destination::Place(place) => {
                    places.insert(place);
                }
            }
        }
        places.len() > 1 || (nowhere && !places.is_empty())
    }
}

enum Destination {
    Unknown,
    Unreachable,
    Place([String; 4]),
}

impl Destination {
    fn of(route: &FollowupRoute) -> Self {
        let given = |part: &Option<String>| part.clone().filter(|part| !part.is_empty());
        let (channel, to, account) = (given(&route.channel), given(&route.to), given(&route.account));
        let thread = numeric_thread(route);
        match (channel, to) {
            (None, None) if account.is_none() && thread.is_none() => Self::Unknown,
            (Some(channel), Some(to)) if is_routable(&channel) => {
                let thread = thread.map(|thread| thread.to_string());
                Self::Place([channel, to, account.unwrap_or_default(), thread.unwrap_or_default()])
            }
            _ => Self::Unreachable,
        }
    }
}

fn is_routable(name: &str) -> bool {
    name != WEBCHAT && text::lower_non_blank(name).is_some_and(|name| channel::core_channel(&name).is_some())
}

/// Only numbers count as threads here.
fn numeric_thread(route: &FollowupRoute) -> Option<ThreadId> {
    route.thread.clone().filter(|thread| matches!(thread, ThreadId::Number(_)))
}

/// The text, cut to `limit` units with an ellipsis if it is longer.
pub fn elide(text: &str, limit: usize) -> String {
    if text::units(text) <= limit {
        return text.to_owned();
    }
    format!("{}…", text::trim_end(&text::head(text, limit.saturating_sub(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: QueueSettings =
        QueueSettings { mode: QueueMode::Collect, debounce_ms: 0.0, cap: 2, drop: DropPolicy::Summarize };

    fn message(prompt: &str, to: Option<&str>) -> Waiting<String> {
        let route = FollowupRoute {
            channel: to.map(|_| "telegram".to_owned()),
            to: to.map(str::to_owned),
            ..FollowupRoute::default()
        };
        Waiting {
            prompt: prompt.to_owned(),
            message_id: None,
            summary_line: None,
            route,
            run: prompt.to_owned(),
        }
    }

    fn runs(settings: QueueSettings, messages: &[(&str, Option<&str>)]) -> Vec<String> {
        let mut queue = FollowupQueue::new(settings);
        for (prompt, to) in messages {
            queue.enqueue(message(prompt, *to), Dedupe::ByMessageId, 0.0);
        }
        let mut prompts = Vec::new();
        while let Drain::Run(run) = queue.drain(0.0) {
            prompts.push(run.prompt);
        }
        prompts
    }

    #[test]
    fn waiting_messages_are_run_together_if_one_answer_reaches_all() {
        let title = "[Queued messages while agent was busy]\n\n";
        let together = format!("{title}---\nQueued #1\na\n\n---\nQueued #2\nb");
        let late = format!("{title}[Queue overflow] Dropped 1 message due to cap.\nSummary:\n- a");
        let followup = QueueSettings { mode: QueueMode::Followup, ..SETTINGS };
        let overflow = "[Queue overflow] Dropped 1 message due to cap.\nSummary:\n- a";
        let table = [
            (SETTINGS, vec![("a", Some("1")), ("b", Some("1"))], vec![together.as_str()]),
            (SETTINGS, vec![("a", None), ("b", None)], vec![&together]),
            (SETTINGS, vec![("a", Some("1")), ("b", Some("2"))], vec!["a", "b"]),
            (SETTINGS, vec![("a", Some("1")), ("b", Some("1")), ("c", None)], vec!["b", "c", &late]),
            (followup, vec![("a", None), ("b", None), ("c", None)], vec![overflow, "b", "c"]),
            (
                QueueSettings { drop: DropPolicy::Old, ..followup },
                vec![("a", None), ("b", None), ("c", None)],
                vec!["b", "c"],
            ),
            (
                QueueSettings { cap: 0, drop: DropPolicy::Old, ..followup },
                vec![("a", None), ("b", None)],
                vec!["b"],
            ),
            (
                QueueSettings { drop: DropPolicy::New, ..followup },
                vec![("a", None), ("b", None), ("c", None)],
                vec!["a", "b"],
            ),
        ];
        for (settings, messages, expected) in table {
            assert_eq!(runs(settings, &messages), expected, "{settings:?} {messages:?}");
        }
    }

    #[test]
    fn a_refused_message_moves_the_clock_and_a_repeated_one_does_not() {
        let settings = QueueSettings { cap: 1, drop: DropPolicy::New, debounce_ms: 10.0, ..SETTINGS };
        let mut queue = FollowupQueue::new(settings);
        let known = Waiting { message_id: Some("1".to_owned()), ..message("a", None) };
        assert!(queue.enqueue(known.clone(), Dedupe::ByMessageId, 0.0));
        assert!(!queue.enqueue(known, Dedupe::ByMessageId, 5.0));
        assert_eq!(queue.drain(5.0), Drain::Wait(10.0));
        assert!(!queue.enqueue(message("b", None), Dedupe::ByMessageId, 7.0));
        assert_eq!(queue.drain(10.0), Drain::Wait(17.0));
        assert!(matches!(queue.drain(17.0), Drain::Run(_)));
        assert_eq!(queue.drain(17.0), Drain::Done);
    }

    #[test]
    fn a_summary_nobody_wants_does_not_keep_the_queue_busy() {
        let mut queue = FollowupQueue::new(QueueSettings { cap: 1, ..SETTINGS });
        for prompt in ["a", "b"] {
            queue.enqueue(message(prompt, None), Dedupe::Never, 0.0);
        }
        queue.set_settings(QueueSettings { drop: DropPolicy::Old, ..SETTINGS });
        assert!(matches!(queue.drain(0.0), Drain::Run(_)));
        assert_eq!(queue.drain(0.0), Drain::Done);
    }
}
