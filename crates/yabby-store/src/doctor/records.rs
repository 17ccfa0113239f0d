//! Stores and their journals, and which transcripts their records speak of (`sessions.md` §5–§7).

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use yabby_domain::json::{Object, Value};
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::salvage::{Content, Shape};
use yabby_domain::text::{lossy, non_blank};
use yabby_domain::transcript::file::START_BYTES;
use yabby_domain::transcript::file_name::session_in;
use yabby_domain::transcript::header::Header;

use super::examination::{Moved, Round, counted};
use super::finding::{Code, Finding};
use super::names::Name;
use super::wards::{File, Ward};
use crate::disk::{beside, parent};
use crate::files::folder::open_inside;
use crate::files::sessions::{JournalLook, Look};

/// Which transcripts belong to which records.
#[derive(Debug, Default)]
pub(super) struct References {
    /// The key of the first record that a file belongs to.
    pub(super) files: HashMap<PathBuf, String>,
    /// All sessions that there is a record of.
    pub(super) sessions: HashSet<String>,
    /// Sessions that have a transcript a topic.
    pub(super) topics: HashSet<String>,
    /// Stores that cannot be read: nobody knows what their records speak of.
    pub(super) unread: HashSet<PathBuf>,
    /// What the session of a file is called.
    pub(super) names: HashMap<PathBuf, String>,
}

impl References {
    /// Remembers that a session has a transcript a topic.
    pub(super) fn note_topic(&mut self, name: &Name) {
        if let Name::Transcript(id) = name
            && let Some((session, _)) = id.as_str().split_once("-topic-")
        {
            self.topics.insert(session.to_owned());
        }
    }
}

impl Round<'_> {
    pub(super) fn examine_records(&mut self, ward: &Ward, files: &[File]) {
        self.examine_locks(ward, files);
        for store in ward.store_paths() {
            let is_older = Some(&store) == ward.older_store.as_ref();
            match Look::at(&store) {
                Err(error) => {
                    self.found(Finding::new(Code::StoreUnreadable, &store, format!("{error}.")));
                    self.references.unread.insert(store);
                }
                Ok(look) => {
                    self.checked.stores += usize::from(look.is_there);
                    self.examine_store(&store, &look, is_older);
                    if is_older {
                        let what = "It is where an earlier program kept its store.";
                        if self.found_unless_held(Finding::new(Code::StoreOlderPlace, &store, what), &store) {
                            self.plan.folds.push(ward.folder.join("sessions.json"));
                        }
                    }
                    self.examine_journal(&store, look.journal.as_ref());
                    self.examine_entries(ward, &store, &look);
                    let has_transcripts = files.iter().any(|file| matches!(file.name, Name::Transcript(_)));
                    let has_older = ward.older_store.as_ref().is_some_and(|older| older.is_file());
                    let is_missing = !look.is_there && look.journal.is_none() && !has_older;
                    if is_missing && has_transcripts && store == ward.store {
                        let what = "There are transcripts, but no store.";
                        self.found(Finding::new(Code::StoreMissing, &store, what));
                    }
                }
            }
        }
        for file in files.iter().filter(|file| file.name == Name::Unapplied) {
            let lines = std::fs::read(&file.path).map(|bytes| bytes.split(|byte| *byte == b'\n').count() - 1);
            let what = format!(
                "{} to no record.",
                counted(lines.unwrap_or_default(), "change belongs", "changes belong")
            );
            self.found(Finding::new(Code::Unapplied, &file.path, what));
        }
    }

    fn examine_store(&mut self, store: &Path, look: &Look, is_older: bool) {
        let read = counted(look.survey.records.len(), "record", "records");
        let repeated = look.survey.repeated_keys();
        let damage = match look.survey.shape {
            _ if !look.is_text => {
                Some((Code::StoreNotUtf8, format!("It holds bytes that are not UTF-8; {read} can be read.")))
            }
            Shape::Broken => Some((Code::StoreDamaged, format!("It is not JSON; {read} can be read in it."))),
            Shape::NoObject => {
                Some((Code::StoreNoObject, "It is JSON, but no object of records.".to_owned()))
            }
            Shape::Json | Shape::Json5 if !repeated.is_empty() => Some((
                Code::StoreRepeatedKey,
                format!("More than one record is called {}.", repeated.join(", ")),
            )),
            Shape::Json5 => {
                self.found(Finding::new(
                    Code::StoreJson5,
                    store,
                    "It is JSON5: comments, other quotes or commas.",
                ));
                None
            }
            Shape::Blank if look.is_there => {
                self.found(Finding::new(Code::StoreEmpty, store, "It is empty."));
                None
            }
            Shape::Json | Shape::Blank => None,
        };
        if look.has_mark && damage.is_none() {
            self.found(Finding::new(Code::StoreMark, store, "It begins with a byte order mark."));
        }
        if let Some((code, what)) = damage
            && self.found_unless_held(Finding::new(code, store, what), store)
        {
            self.plan.stores.push(store.to_owned());
            if !is_older {
                self.plan.folds.push(store.to_owned());
            }
        }
    }

    fn examine_journal(&mut self, store: &Path, journal: Option<&JournalLook>) {
        let Some(journal) = journal else { return };
        let path = beside(store, ".journal");
        let mut needs_mending = false;
        let mut needs_folding = false;
        if !journal.changes.is_empty() || journal.is_spent {
            let what = format!(
                "{} not in the store yet.",
                counted(journal.changes.len(), "change is", "changes are")
            );
            needs_folding |= self.found_unless_held(Finding::new(Code::JournalWaiting, &path, what), store);
        }
        if journal.is_cut_off {
            let finding = Finding::new(
                Code::JournalCutOff,
                &path,
                "Its last line was being written when its writer died.",
            );
            needs_mending |= self.found_unless_held(finding, store);
        }
        if !journal.damaged.is_empty() {
            let what = format!(
                "{} of ours.",
                counted(journal.damaged.len(), "line is no change", "lines are no changes")
            );
            let mut finding = Finding::new(Code::JournalDamaged, &path, what);
            finding.lines = journal.damaged.iter().copied().take(20).collect();
            needs_mending |= self.found_unless_held(finding, store);
        }
        if needs_mending {
            self.plan.stores.push(store.to_owned());
        }
        if needs_folding {
            self.plan.folds.push(store.to_owned());
        }
    }

    fn examine_entries(&mut self, ward: &Ward, store: &Path, look: &Look) {
        for found in &look.survey.records {
            if matches!(found.record, Content::TooDeep(_)) {
                let what = format!("The record of {} is nested too deep.", found.key);
                self.found(Finding::new(Code::RecordTooDeep, store, what));
            }
        }
        for (key, record) in look.records() {
            self.checked.records += 1;
            match record {
                Value::Object(fields) => self.examine_entry(ward, store, &key, &fields),
                other => {
                    let what = format!("{key} has {} in the place of a record.", kind_of(&other));
                    self.found(Finding::new(Code::RecordNoObject, store, what));
                }
            }
        }
    }

    fn examine_entry(&mut self, ward: &Ward, store: &Path, key: &str, fields: &Object) {
        for (name, is_right) in [
            ("sessionId", Value::is_string as fn(&Value) -> bool),
            ("updatedAt", Value::is_number),
            ("sessionFile", Value::is_string),
            ("label", Value::is_string),
            ("deliveryContext", Value::is_object),
        ] {
            let is_required = matches!(name, "sessionId" | "updatedAt");
            match fields.get(name) {
                None if !is_required => {}
                Some(value) if is_right(value) => {}
                None => {
                    let what = format!("{key} has no {name}.");
                    self.found(Finding::new(Code::RecordWrongType, store, what));
                }
                Some(value) => {
                    let what = format!("{key} has {} as its {name}.", kind_of(value));
                    self.found(Finding::new(Code::RecordWrongType, store, what));
                }
            }
        }
        let Some(session) = fields.get("sessionId").and_then(Value::as_str).and_then(non_blank) else {
            return;
        };
        let named = fields.get("sessionFile").and_then(Value::as_str).and_then(non_blank);
        self.references.sessions.insert(session.to_owned());
        self.follow(ward, store, key, session, named, fields);
    }

    /// Looks for the transcript of a record.
    fn follow(
        &mut self,
        ward: &Ward,
        store: &Path,
        key: &str,
        session: &str,
        named: Option<&str>,
        fields: &Object,
    ) {
        let named = named.map(|named| parent(store).join(named));
        let agent = SessionKey::new(key).agent_key().map(|_| SessionKey::new(key).agent_id());
        let agent = agent.unwrap_or_else(|| ward.agent.clone());
        let of_agent = self.doctor.place.folder.sessions(&agent).unwrap_or_else(|_| ward.folder.clone());
        let name = format!("{session}.jsonl");
        // Another session's file may have the name that a record gives: that is not the one it lost.
        let is_its_own = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            session_in(&name) == session || header_of(path).is_some_and(|header| header == session)
        };
        let by_name = named.as_ref().and_then(|named| named.file_name()).map(|name| ward.folder.join(name));
        let by_name = by_name.filter(is_its_own);
        let here = [by_name, Some(ward.folder.join(&name)), Some(of_agent.join(&name))].into_iter().flatten();
        let is_there = |path: &PathBuf| path.is_file() || beside(path, ".journal").is_file();
        let own = named.clone().filter(is_there);
        let Some(file) = own.clone().or_else(|| here.into_iter().find(is_there)) else {
            self.tell_lost(store, key, session, fields);
            return;
        };
        let Some(file) = self.as_listed(&file) else {
            let what = format!("{key} has its transcript outside: {}.", file.display());
            self.found(Finding::new(Code::RecordOutside, store, what));
            return;
        };
        if own.is_none() && named.is_some() {
            let what = format!("{key} names a file that is not there; {} is.", file.display());
            let finding = Finding::new(Code::RecordMoved, store, what);
            if self.found_unless_held(finding, store) {
                let (store, key) = (store.to_owned(), key.to_owned());
                let old_state = named.and_then(|named| self.state_before(&named, &file));
                self.plan.moved.push(Moved { store, key, file: file.clone(), old_state });
            }
        }
        self.references.names.entry(file.clone()).or_insert_with(|| session.to_owned());
        match self.references.files.get(&file) {
            Some(other) if other != key => {
                let what = format!("{other} and {key} are records of one transcript, {}.", file.display());
                self.found(Finding::new(Code::TranscriptShared, store, what));
            }
            Some(_) => {}
            None => drop(self.references.files.insert(file, key.to_owned())),
        }
    }

    /// The state folder of a file that was called `named` and is `file` now.
    fn state_before(&self, named: &Path, file: &Path) -> Option<String> {
        let inside = file.strip_prefix(self.doctor.place.folder.path()).ok()?;
        let old = named.to_str()?.strip_suffix(inside.to_str()?)?.trim_end_matches('/');
        (!old.is_empty()).then(|| old.to_owned())
    }

    /// The file as it is called where it is listed; `None` if it is in none of the folders.
    fn as_listed(&self, file: &Path) -> Option<PathBuf> {
        let folder = parent(file);
        if self.plan.wards.iter().any(|ward| ward.folder == folder) {
            return Some(file.to_owned());
        }
        let real = folder.canonicalize().ok()?;
        let ward = self.plan.wards.iter().find(|ward| ward.real == real)?;
        Some(ward.folder.join(file.file_name()?))
    }

    fn tell_lost(&mut self, store: &Path, key: &str, session: &str, fields: &Object) {
        let has_spoken = fields.get("systemSent") == Some(&Value::Bool(true))
            || fields.get("totalTokens").and_then(Value::as_f64).is_some_and(|tokens| tokens > 0.0);
        if self.references.topics.contains(session) {
            return;
        }
        let code = if has_spoken { Code::RecordLostTranscript } else { Code::RecordNoTranscript };
        self.found(Finding::new(code, store, format!("{key} has no transcript (session {session}).")));
    }
}

/// The session that the header of a transcript names.
fn header_of(path: &Path) -> Option<String> {
    let mut start = Vec::new();
    open_inside(path).ok()??.take(START_BYTES as u64).read_to_end(&mut start).ok()?;
    let start = lossy(&start);
    Some(Header::parse(start.lines().next()?)?.session_id().to_owned())
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a flag",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
