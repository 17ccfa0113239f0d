//! Where sessions and transcripts live below the state folder (`sessions.md` §5, `transcripts.md` §1.5).
//!
//! Paths are text here: nothing is looked up. The folders come from the caller.

use crate::id::AgentId;
use crate::inbound::ThreadId;
use crate::json;
use crate::text;

pub use yabby_base::path::{absolute, expand_home, join, name_of, parent, user_path};

/// The folders that relative and `~` paths are resolved against.
#[derive(Clone, Copy, Debug)]
pub struct Folders<'a> {
    pub state: &'a str,
    pub home: &'a str,
    pub current: &'a str,
}

/// `<state>/agents/<agent>/sessions`
pub fn sessions_folder(state: &str, agent: &AgentId) -> String {
    format!("{}/agents/{agent}/sessions", state.trim_end_matches('/'))
}

/// The transcript of a session, with the topic in its name if there is one.
pub fn transcript_path(state: &str, agent: &AgentId, session_id: &str, topic: Option<&ThreadId>) -> String {
    format!("{}/{}.jsonl", sessions_folder(state, agent), transcript_name(session_id, topic))
}

/// What a transcript is called, without the ending of its file.
pub fn transcript_name(session_id: &str, topic: Option<&ThreadId>) -> String {
    match topic {
        None => session_id.to_owned(),
        Some(ThreadId::Number(n)) => format!("{session_id}-topic-{}", json::number_text(*n)),
        Some(ThreadId::Text(topic)) => format!("{session_id}-topic-{}", percent_encode(topic)),
    }
}

/// The file of a record: its own if it names one, else the default.
pub fn transcript_of(session_file: Option<&str>, state: &str, agent: &AgentId, session_id: &str) -> String {
    match session_file.and_then(text::non_blank) {
        Some(file) => file.to_owned(),
        None => transcript_path(state, agent, session_id, None),
    }
}

/// The store of an agent: `session.store` with `{agentId}` and `~` filled in, else the default.
pub fn store_path(configured: Option<&str>, agent: &AgentId, folders: &Folders<'_>) -> String {
    match configured.filter(|store| !store.is_empty()) {
        None => format!("{}/sessions.json", sessions_folder(folders.state, agent)),
        Some(store) => {
            absolute(&expand_home(&store.replace("{agentId}", agent.as_str()), folders.home), folders.current)
        }
    }
}

/// Percent-encoding of everything but letters, digits and `-_.!~*'()`.
fn percent_encode(raw: &str) -> String {
    percent_encoded(raw, |c| !c.is_ascii_alphanumeric() && !"-_.!~*'()".contains(c))
}

/// Percent-encoding of special characters.
pub(crate) fn percent_encoded(raw: &str, is_special: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        if !is_special(c) {
            out.push(c);
            continue;
        }
        // Half a pair has no UTF-8; it is written as the replacement character.
        let c = if text::stood_for(c).is_some() { char::REPLACEMENT_CHARACTER } else { c };
        for byte in c.encode_utf8(&mut [0; 4]).bytes() {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_part_of_the_file_name() {
        //  topic                                file name
        let table = [
            (None, "abc.jsonl"),
            (Some(ThreadId::Number(42.0)), "abc-topic-42.jsonl"),
            (Some(ThreadId::Text("a b/ü".to_owned())), "abc-topic-a%20b%2F%C3%BC.jsonl"),
            (Some(ThreadId::Text(String::new())), "abc-topic-.jsonl"),
        ];
        for (topic, name) in table {
            let path = transcript_path("/s", &AgentId::default(), "abc", topic.as_ref());
            assert_eq!(path, format!("/s/agents/main/sessions/{name}"));
        }
        for (named, path) in
            [(Some(" /x.jsonl "), "/x.jsonl"), (Some(" "), "/s/agents/main/sessions/abc.jsonl")]
        {
            assert_eq!(transcript_of(named, "/s", &AgentId::default(), "abc"), path);
        }
    }

    #[test]
    fn the_store_may_live_elsewhere() {
        let folders = Folders { state: "/s", home: "/h", current: "/c" };
        let ops = AgentId::normalize("Ops");
        let table = [
            (None, "/s/agents/ops/sessions/sessions.json"),
            (Some("~/{agentId}/s.json"), "/h/ops/s.json"),
            (Some("x/../y.json"), "/c/y.json"),
            (Some("/a//b.json"), "/a/b.json"),
            (Some("~x/y"), "/c/~x/y"),
        ];
        for (configured, path) in table {
            assert_eq!(store_path(configured, &ops, &folders), path, "{configured:?}");
        }
    }
}
