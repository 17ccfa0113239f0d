//! The transcripts of a folder, one after the other (`transcripts.md` §2, §9).

use std::collections::{BTreeMap, HashSet};
use std::io::Read as _;
use std::path::Path;

use yabby_domain::text::{self, lossy};
use yabby_domain::transcript::Stamp;
use yabby_domain::transcript::damage::{self, Damage, DamageKind};
use yabby_domain::transcript::entry::{Entry, EntryKind};
use yabby_domain::transcript::file_name::{TranscriptId, session_in};
use yabby_domain::transcript::header::{Header, NewSession, Version};
use yabby_domain::transcript::journal::{self, Pending};
use yabby_domain::transcript::listing::holds_messages;
use yabby_domain::transcript::mend::{Mend, mend};

use super::examination::{Orphan, Patient, Round, counted};
use super::finding::{Code, Finding};
use super::names::Name;
use super::wards::{File, Ward};
use crate::disk::{Doing, beside};
use crate::files::folder::open_inside;
use yabby_domain::seam::StoreError;

/// How many lines a finding names.
const NAMED_LINES: usize = 20;

impl Round<'_> {
    pub(super) fn examine_transcripts(&mut self, at: usize, ward: &Ward, files: &[File]) {
        let journals: HashSet<&TranscriptId> = files
            .iter()
            .filter_map(|file| if let Name::TranscriptJournal(id) = &file.name { Some(id) } else { None })
            .collect();
        let transcripts: Vec<(&TranscriptId, &Path)> = files
            .iter()
            .filter_map(
                |file| if let Name::Transcript(id) = &file.name { Some((id, &*file.path)) } else { None },
            )
            .collect();
        for (done, (id, path)) in transcripts.iter().enumerate() {
            // In a folder that is not the agent's only what somebody speaks of is a transcript.
            if !ward.is_own && !self.references.files.contains_key(*path) {
                continue;
            }
            self.tell("transcripts", done, transcripts.len());
            self.checked.transcripts += 1;
            self.examine_transcript(at, ward, id, path, journals.contains(id));
        }
        let with_file: HashSet<&TranscriptId> = transcripts.iter().map(|(id, _)| *id).collect();
        for id in journals.iter().filter(|id| ward.is_own && !with_file.contains(**id)) {
            let path = ward.folder.join(id.file_name());
            if let Ok(Some(bytes)) = read(&beside(&path, ".journal")) {
                self.examine_transcript_journal(&path, None, &bytes);
                self.examine_belonging(at, id, &path, &bytes);
            }
        }
    }

    fn examine_transcript(
        &mut self,
        at: usize,
        ward: &Ward,
        id: &TranscriptId,
        path: &Path,
        has_journal: bool,
    ) {
        let bytes = match read(path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return,
            Err(error) => {
                self.found(Finding::new(Code::TranscriptUnreadable, path, format!("{error}.")));
                return;
            }
        };
        self.checked.lines += bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        let journal = if has_journal { read(&beside(path, ".journal")).ok().flatten() } else { None };
        let mut needs_mending = false;
        if let Some(journal) = &journal {
            needs_mending |= self.examine_transcript_journal(path, Some(&bytes), journal);
        }
        if text::trim(&lossy(&bytes)).is_empty() {
            self.found(Finding::new(Code::TranscriptEmpty, path, "It is empty."));
        } else {
            needs_mending |= self.examine_lines(path, &bytes);
            self.examine_header(path, &bytes);
            self.examine_belonging(at, id, path, &bytes);
        }
        if needs_mending {
            let session = self.references.names.get(path).cloned();
            let session = session.unwrap_or_else(|| session_in(&id.file_name()).to_owned());
            self.plan.transcripts.push(Patient { folder: ward.folder.clone(), id: id.clone(), session });
        }
    }

    /// Tells what is wrong with the lines of a file; whether it is to be mended.
    fn examine_lines(&mut self, path: &Path, bytes: &[u8]) -> bool {
        let damages = damage::inspect(bytes);
        if damages.is_empty() {
            return false;
        }
        let mut fresh_id = String::new;
        let mut stamp = Stamp { now: self.doctor.clock.now(), fresh_id: &mut fresh_id };
        let session = NewSession { id: "", cwd: "", parent: None };
        // Names are only made up where an id is taken, and nobody sees them.
        let is_taken = damages.iter().any(|damage| matches!(damage.kind, DamageKind::DuplicateId { .. }));
        if !is_taken && mend(bytes, session, &mut stamp) == Mend::PutAway {
            let what = "It holds something, but nothing of a conversation.";
            return self.found_unless_held(Finding::new(Code::NotATranscript, path, what), path);
        }
        let first_entry = first_entry(bytes);
        let mut by_code = BTreeMap::<Code, Vec<&Damage>>::new();
        for damage in &damages {
            let code = match &damage.kind {
                DamageKind::NotUtf8 => Code::NotUtf8,
                DamageKind::NotJson => Code::NotJson,
                DamageKind::CutOff => Code::CutOff,
                DamageKind::NoEntry => Code::NoEntry,
                DamageKind::NoHeader => Code::NoHeader,
                DamageKind::Unterminated => Code::Unterminated,
                DamageKind::TooDeep => Code::TooDeep,
                DamageKind::LoneSurrogate => Code::LoneSurrogate,
                DamageKind::DuplicateId { .. } => Code::RepeatedId,
                DamageKind::UnknownParent { .. } if Some(damage.line) == first_entry => {
                    Code::BeginsInTheMiddle
                }
                DamageKind::UnknownParent { .. } => Code::UnknownParent,
                DamageKind::ParentCycle => Code::ParentCycle,
            };
            by_code.entry(code).or_default().push(damage);
        }
        let mut needs_mending = false;
        for (code, damages) in by_code {
            let what = match damages.as_slice() {
                [only] => format!("{}.", capitalised(&only.to_string())),
                [first, ..] => {
                    format!("{}, and {} more such lines.", capitalised(&first.to_string()), damages.len() - 1)
                }
                [] => continue,
            };
            let mut finding = Finding::new(code, path, what);
            finding.lines = damages.iter().map(|damage| damage.line).take(NAMED_LINES).collect();
            needs_mending |= if finding.is_fixable() {
                self.found_unless_held(finding, path)
            } else {
                self.found(finding);
                false
            };
        }
        needs_mending
    }

    fn examine_header(&mut self, path: &Path, bytes: &[u8]) {
        let file = lossy(bytes);
        let mut entries = text::trim(&file).split('\n').filter_map(Entry::parse);
        let first = entries.next().and_then(|entry| Header::parse(entry.line()));
        if first.is_some_and(|header| header.version() < Version::Three) {
            self.found(Finding::new(Code::OlderVersion, path, "An older version wrote it."));
        }
        // Most files have no such word in a second line, and need not be parsed again.
        if file.matches("\"session\"").nth(1).is_some()
            && entries.any(|entry| entry.kind() == EntryKind::Session)
        {
            self.found(Finding::new(Code::SecondHeader, path, "It has more than one header."));
        }
    }

    /// Whether somebody's record speaks of a transcript.
    fn examine_belonging(&mut self, at: usize, id: &TranscriptId, path: &Path, bytes: &[u8]) {
        let topic_of = id.as_str().split_once("-topic-").map(|(session, _)| session);
        let belongs = self.references.files.contains_key(path)
            || topic_of.is_some_and(|session| self.references.sessions.contains(session));
        if belongs || !holds_messages(&lossy(bytes)) {
            return;
        }
        let Some(ward) = self.plan.wards.get(at) else { return };
        let store = ward.store.clone();
        let mut stores = ward.store_paths().into_iter().chain([store.clone()]);
        if stores.any(|store| self.references.unread.contains(&store)) {
            return;
        }
        let mut finding = Finding::new(Code::Orphan, path, "No record speaks of it.");
        finding.held_by = self.held.get(&store).map(|held| held.pid);
        let is_free = finding.held_by.is_none();
        self.found(finding);
        if is_free {
            self.plan.orphans.push(Orphan { ward: at, id: id.clone() });
        }
    }

    /// Whether a journal is to be put away.
    fn examine_transcript_journal(&mut self, path: &Path, file: Option<&[u8]>, journal: &[u8]) -> bool {
        let whole = journal::whole_lines(journal);
        let journal = beside(path, ".journal");
        match journal::pending(file.map(lossy).as_deref(), &lossy(whole)) {
            Pending::Lines(lines) if lines.is_empty() => false,
            Pending::Lines(lines) => {
                let what = format!(
                    "{} for the first answer.",
                    counted(lines.lines().count(), "line waits", "lines wait")
                );
                self.found(Finding::new(Code::TranscriptJournalWaiting, journal, what));
                false
            }
            Pending::Overtaken { .. } => {
                let what = "Another program has gone on with the conversation without it.";
                self.found_unless_held(Finding::new(Code::TranscriptJournalOvertaken, journal, what), path)
            }
        }
    }
}

/// The line of the first entry that is no header.
fn first_entry(bytes: &[u8]) -> Option<usize> {
    let is_entry = |line: &[u8]| {
        Entry::parse(text::trim(&lossy(line))).is_some_and(|entry| entry.kind() != EntryKind::Session)
    };
    bytes.split(|byte| *byte == b'\n').position(is_entry).map(|at| at + 1)
}

pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(mut file) = open_inside(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).doing("read", path)?;
    Ok(Some(bytes))
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}
