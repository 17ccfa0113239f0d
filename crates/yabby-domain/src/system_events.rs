//! Notices that wait for the next prompt of a session (`sessions.md` §12).

use std::collections::VecDeque;
use std::sync::LazyLock;

use jiff::tz::TimeZone;
use regex::Regex;

use crate::channel::ChatType;
use crate::config::Config;
use crate::id::MainKey;
use crate::text;
use crate::zone::{Precision, StampZone};

/// How many notices of a session are kept; older ones are dropped.
const MAX_EVENTS: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemEvent {
    pub text: String,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// The notices of one session, until a turn takes them along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemEvents {
    waiting: VecDeque<SystemEvent>,
    /// Whom the last notice was about.
    about: Option<String>,
}

impl SystemEvents {
    /// Blank notices and repetitions of the one before are ignored.
    pub fn push(&mut self, notice: &str, now: i64) {
        self.push_about(None, notice, now);
    }

    /// The same for a notice about somebody.
    pub fn push_about(&mut self, who: Option<&str>, notice: &str, now: i64) {
        let Some(notice) = text::non_blank(notice) else {
            return;
        };
        self.about = who.map(text::lower);
        if self.waiting.back().is_some_and(|last| last.text == notice) {
            return;
        }
        self.waiting.push_back(SystemEvent { text: notice.to_owned(), at: now });
        if self.waiting.len() > MAX_EVENTS {
            self.waiting.pop_front();
        }
    }

    /// Whether the last notice was about somebody, so that the next one need not say their name.
    pub fn is_about(&self, who: &str) -> bool {
        self.about.as_deref() == Some(text::lower(who).as_str())
    }

    /// What they say; they stay.
    pub fn texts(&self) -> Vec<String> {
        self.waiting.iter().map(|event| event.text.clone()).collect()
    }

    /// Takes all notices out.
    pub fn drain(&mut self) -> Vec<SystemEvent> {
        self.about = None;
        self.waiting.drain(..).collect()
    }
}

/// The zone in which notices are stamped. Other than in a message's header, an unknown zone means the
/// host's here.
pub fn stamp_zone(config: &Config, host: &TimeZone) -> StampZone {
    let defaults = &config.agents.defaults;
    let zone = defaults.envelope_timezone.as_deref().unwrap_or_default();
    StampZone::from_setting(zone, defaults.user_timezone.as_deref(), host)
        .unwrap_or_else(|| StampZone::Local(host.clone()))
}

/// Whether a session is told about its channels first: a new main session that is no group.
///
/// As in the reference, the main session is the one whose whole key is the main key. No key of an
/// agent is, so this happens only where keys are written without agents.
pub fn tells_of_channels(key: &str, main_key: &MainKey, chat_type: Option<ChatType>, is_new: bool) -> bool {
    let in_group = matches!(chat_type, Some(ChatType::Group | ChatType::Channel));
    is_new && !in_group && key == main_key.as_str()
}

/// The notices as lines for a prompt; `None` if none of them is worth telling. `summary` is what a new
/// main session is told about its channels first.
pub fn render(summary: &[String], events: &[SystemEvent], zone: &StampZone) -> Option<String> {
    let stamped = events.iter().filter_map(|event| {
        let told = worth_telling(&event.text)?;
        let stamp = zone.stamp(event.at, Precision::Seconds);
        Some(format!("[{}] {told}", stamp.as_deref().unwrap_or("unknown-time")))
    });
    let lines: Vec<String> =
        summary.iter().cloned().chain(stamped).map(|line| format!("System: {line}")).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The notice without what concerns machines only.
fn worth_telling(notice: &str) -> Option<String> {
    static LAST_INPUT: LazyLock<Regex> = LazyLock::new(|| text::pattern(" · (?i-u:last input) [^·]+"));
    let notice = text::non_blank(notice)?;
    let lowered = text::lower(notice);
    let routine = ["reason periodic", "heartbeat poll", "heartbeat wake"];
    if routine.iter().any(|words| lowered.contains(words)) || lowered.starts_with("read heartbeat.md") {
        return None;
    }
    let told = if notice.starts_with("Node:") { LAST_INPUT.replace(notice, "") } else { notice.into() };
    text::non_blank(&told).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(notices: &[&str]) -> Option<String> {
        let mut events = SystemEvents::default();
        for notice in notices {
            events.push(notice, 0);
        }
        let text = render(&[], &events.drain(), &StampZone::Utc)?;
        assert_eq!(events.drain(), []);
        Some(text.replace("System: [1970-01-01T00:00:00Z] ", ""))
    }

    #[test]
    fn notices_are_told_once_and_routine_is_not() {
        let many: Vec<String> = (0..30).map(|n| format!("E{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let last = many[10..].join("\n");
        let table = [
            (vec!["A", " A ", "", "B", "A"], Some("A\nB\nA")),
            (vec!["Heartbeat POLL", "read heartbeat.md now", "x (reason periodic)"], None),
            (vec!["Node: mac · last INPUT 5s ago · up"], Some("Node: mac· up")),
            (vec!["Peer: mac · last input 5s"], Some("Peer: mac · last input 5s")),
            (many, Some(last.as_str())),
        ];
        for (notices, expected) in table {
            assert_eq!(told(&notices).as_deref(), expected, "{notices:?}");
        }
    }

    #[test]
    fn it_is_known_whom_the_last_notice_was_about() {
        let mut events = SystemEvents::default();
        events.push_about(Some("Mac"), "up", 1);
        assert!(events.is_about("mac") && !events.is_about("phone"));
        events.push("up", 2);
        assert!(!events.is_about("mac"), "a repetition is not kept, and is about nobody all the same");
        events.push_about(Some("mac"), "down", 3);
        events.drain();
        assert!(!events.is_about("mac"));
    }

    #[test]
    fn only_a_new_session_under_the_bare_main_key_is_told_of_channels() {
        let main = MainKey::default();
        assert!(tells_of_channels("main", &main, None, true));
        assert!(!tells_of_channels("main", &main, None, false));
        assert!(!tells_of_channels("main", &main, Some(ChatType::Group), true));
        assert!(!tells_of_channels("agent:main:main", &main, None, true));
    }

    #[test]
    fn the_channel_summary_comes_first_and_a_broken_clock_is_admitted() {
        let event = SystemEvent { text: "x".to_owned(), at: i64::MAX };
        let lines = render(&["Telegram: up".to_owned()], &[event], &StampZone::Utc);
        assert_eq!(lines.as_deref(), Some("System: Telegram: up\nSystem: [unknown-time] x"));
    }
}
