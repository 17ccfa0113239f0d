//! What transcript files and their copies are called, and where they are looked for (`transcripts.md`
//! §1.5, §7.3, §7.7, §7.8).

use jiff::Timestamp;

use super::time;
use crate::id::AgentId;
use crate::inbound::ThreadId;
use crate::session::entry::SessionEntry;
use crate::session::glance::{Field, Glance};
use crate::session::path::{Folders, name_of, transcript_name, transcript_path};
use crate::text;

/// The name of a transcript in its folder, without `.jsonl`. It cannot name anything outside of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TranscriptId(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot be the name of a transcript: it must be a plain file name of at most 200 bytes")]
pub struct UnsafeName(pub String);

impl TranscriptId {
    /// The transcript of a session, with the topic in its name if there is one.
    pub fn new(session_id: &str, topic: Option<&ThreadId>) -> Result<Self, UnsafeName> {
        Self::named(&transcript_name(session_id, topic))
    }

    /// The transcript in the file of this name.
    pub fn of_file(name: &str) -> Result<Self, UnsafeName> {
        Self::named(name.strip_suffix(".jsonl").ok_or_else(|| UnsafeName(name.to_owned()))?)
    }

    /// The transcript of a record: the file that it names, else that of its session id. Turns write there, so everybody
    /// reads there.
    pub fn of_record(record: &SessionEntry) -> Result<Self, UnsafeName> {
        Self::of_fields(record.session_file(), record.session_id())
    }

    /// The transcript of the record that a glance was taken of.
    pub fn of_glance(glance: &Glance) -> Result<Self, UnsafeName> {
        let [file, id] = [Field::SessionFile, Field::SessionId].map(|field| glance.text(field));
        Self::of_fields(file.as_deref(), id.as_deref())
    }

    /// Whether another record has, or may have, its conversation in this file, which is that of `session_id`: it names
    /// the file, has the same id, or the id that the file is called after.
    pub fn may_be_shared_with(&self, other: &Glance, session_id: Option<&str>) -> bool {
        let [file, id] = [Field::SessionFile, Field::SessionId].map(|field| other.text(field));
        file.is_some_and(|file| name_of(text::trim(&file)) == self.file_name())
            || id.is_some_and(|id| Some(&*id) == session_id || *id == self.0)
    }

    fn of_fields(session_file: Option<&str>, session_id: Option<&str>) -> Result<Self, UnsafeName> {
        match session_file.and_then(text::non_blank) {
            Some(file) => Self::of_file(name_of(file)),
            None => Self::new(session_id.unwrap_or_default(), None),
        }
    }

    fn named(name: &str) -> Result<Self, UnsafeName> {
        const LONGEST: usize = 200;
        let is_plain = |c: char| !matches!(c, '/' | '\\') && !c.is_control();
        let is_safe =
            !name.is_empty() && name.len() <= LONGEST && !name.starts_with('.') && name.chars().all(is_plain);
        if is_safe { Ok(Self(name.to_owned())) } else { Err(UnsafeName(name.to_owned())) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn file_name(&self) -> String {
        format!("{}.jsonl", self.0)
    }
}

/// The session in the name of a file, without topic and time.
pub fn session_in(name: &str) -> &str {
    let name = name.strip_suffix(".jsonl").unwrap_or(name);
    let name = name.split_once("-topic-").map_or(name, |(session, _)| session);
    match name.split_once("Z_") {
        Some((time, session)) if time.contains('T') && !session.is_empty() => session,
        _ => name,
    }
}

/// A file that pi names: the time of its header and its session.
pub fn session_file(now: Timestamp, session_id: &str) -> String {
    format!("{}_{session_id}.jsonl", time::iso(now).replace([':', '.'], "-"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveReason {
    /// Replaced by a shorter or a fresh one.
    Backup,
    Deleted,
}

/// What a file is renamed to when it is put away.
pub fn archive(file: &str, reason: ArchiveReason, now: Timestamp) -> String {
    let reason = match reason {
        ArchiveReason::Backup => "bak",
        ArchiveReason::Deleted => "deleted",
    };
    format!("{file}.{reason}.{}", time::iso(now).replace(':', "-"))
}

/// The copy that a repair leaves of the original.
pub fn repair_backup(file: &str, pid: u32, now: Timestamp) -> String {
    format!("{file}.bak-{pid}-{}", now.as_millisecond())
}

/// Where a repair writes before it renames.
pub fn repair_draft(file: &str, pid: u32, now: Timestamp) -> String {
    format!("{file}.repair-{pid}-{}.tmp", now.as_millisecond())
}

/// Where a session's file may be, the likeliest place first: the file that its record names, beside
/// the store, the agent's folder, and where older releases kept it.
pub fn candidates(
    session_id: &str,
    session_file: Option<&str>,
    store: Option<&str>,
    agent: Option<&AgentId>,
    folders: &Folders<'_>,
) -> Vec<String> {
    let named = session_file.filter(|file| !file.is_empty()).map(str::to_owned);
    let beside_store = store.filter(|store| !store.is_empty()).map(|store| match store.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{session_id}.jsonl"),
        None => format!("{session_id}.jsonl"),
    });
    let of_agent = agent.map(|agent| transcript_path(folders.state, agent, session_id, None));
    let legacy = format!("{}/.openclaw/sessions/{session_id}.jsonl", folders.home);
    [named, beside_store, of_agent].into_iter().flatten().chain([legacy]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_the_time() {
        let now = Timestamp::from_millisecond(1_768_469_400_001).expect("in range");
        assert_eq!(session_file(now, "abc"), "2026-01-15T09-30-00-001Z_abc.jsonl");
        assert_eq!(archive("s.jsonl", ArchiveReason::Backup, now), "s.jsonl.bak.2026-01-15T09-30-00.001Z");
        assert_eq!(
            archive("s.jsonl", ArchiveReason::Deleted, now),
            "s.jsonl.deleted.2026-01-15T09-30-00.001Z"
        );
        assert_eq!(repair_backup("s.jsonl", 7, now), "s.jsonl.bak-7-1768469400001");
        assert_eq!(repair_draft("s.jsonl", 7, now), "s.jsonl.repair-7-1768469400001.tmp");
    }

    #[test]
    fn names_tell_the_session() {
        for (name, session) in [
            ("abc.jsonl", "abc"),
            ("abc-topic-7.jsonl", "abc"),
            ("2026-01-15T09-30-00-001Z_abc.jsonl", "abc"),
            ("Z_.jsonl", "Z_"),
        ] {
            assert_eq!(session_in(name), session);
        }
    }

    #[test]
    fn a_transcript_cannot_be_outside_its_folder() {
        let topic = ThreadId::Text("../7".to_owned());
        assert_eq!(TranscriptId::new("s", Some(&topic)).unwrap().file_name(), "s-topic-..%2F7.jsonl");
        assert_eq!(TranscriptId::of_file("a_b.jsonl").unwrap().as_str(), "a_b");
        let long = "x".repeat(201);
        for name in ["", ".", "..", "../s", "/etc/passwd", "a/b", "a\\b", "a\0", ".hidden", long.as_str()] {
            assert!(TranscriptId::new(name, None).is_err(), "{name:?}");
        }
        assert!(TranscriptId::of_file("notes.txt").is_err());
    }

    #[test]
    fn a_record_has_the_transcript_that_it_names() {
        use serde_json::json;
        //  record                                                    transcript
        let table = [
            (json!({"sessionId": "s"}), Some("s.jsonl")),
            (json!({"sessionId": "s", "sessionFile": " "}), Some("s.jsonl")),
            (json!({"sessionId": "s", "sessionFile": null}), Some("s.jsonl")),
            (json!({"sessionId": "s", "sessionFile": " /old/home/t.jsonl "}), Some("t.jsonl")),
            (json!({"sessionFile": "t.jsonl"}), Some("t.jsonl")),
            // No other file is guessed at.
            (json!({"sessionId": "s", "sessionFile": "/etc/passwd"}), None),
            (json!({"sessionId": "../s"}), None),
            (json!({"sessionId": 7}), None),
            (json!({}), None),
        ];
        for (record, file) in table {
            let entry = SessionEntry::new(record.as_object().unwrap().clone());
            let of_record = TranscriptId::of_record(&entry).ok().map(|id| id.file_name());
            assert_eq!(of_record.as_deref(), file, "{record}");
            assert_eq!(TranscriptId::of_glance(&Glance::of(&entry)).ok().map(|id| id.file_name()), of_record);
        }
    }

    #[test]
    fn a_file_is_looked_for_where_it_likely_is() {
        let folders = Folders { state: "/state", home: "/home/me", current: "/" };
        let agent = AgentId::normalize("ops");
        let all = candidates("s", Some("/own.jsonl"), Some("/stores/sessions.json"), Some(&agent), &folders);
        let expected = [
            "/own.jsonl",
            "/stores/s.jsonl",
            "/state/agents/ops/sessions/s.jsonl",
            "/home/me/.openclaw/sessions/s.jsonl",
        ];
        assert_eq!(all, expected);
        assert_eq!(candidates("s", Some(""), None, None, &folders), expected[3..]);
    }
}
