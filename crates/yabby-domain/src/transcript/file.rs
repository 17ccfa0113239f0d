//! A transcript and what of it is on disk (`transcripts.md` §2.1, §4, §7.1, §7.2).
//!
//! This says which bytes to write and when; the store writes them. The reference keeps a session in
//! memory until its first answer, so that a run that never answers leaves no file. Our file follows the
//! same rule, but nothing that was appended is ever left out (§9): until the first answer entries go to
//! a journal beside the file (see [`super::journal`]), and with it everything goes to the file. A cut
//! last line is ended before anything follows it, and a file that is no transcript is put aside, not
//! overwritten.

use std::sync::Arc;

use super::entry::{Entry, EntryKind};
use super::header::{Header, NewSession};
use super::journal::{self, Pending};
use super::tree::{BranchSummary, NewEntry, Transcript, UnknownEntry};
use super::{Stamp, version};
use crate::text;

#[derive(Clone, Debug)]
pub struct TranscriptFile {
    transcript: Transcript,
    /// Where a session that is forked from this one works.
    cwd: String,
    disk: Disk,
}

/// What the file and the journal hold.
#[derive(Clone, Copy, Debug, Default)]
struct Disk {
    has_header: bool,
    /// How many entries of the transcript, from the first on, are in the file.
    entries: usize,
    /// The last line of the file has no line feed.
    unterminated: bool,
    /// The journal begins with a header …
    header_in_journal: bool,
    /// … and holds the entries from those in the file up to this one.
    journaled: usize,
}

/// What is to be done to the file because it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnOpen {
    Nothing,
    /// Write this instead of the file; `keep_copy` if the old text holds lines that are not in it.
    Replace {
        text: String,
        keep_copy: bool,
    },
    /// The file is no transcript: rename it to an archive name, then write this.
    SetAside {
        text: String,
    },
}

/// What an append did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    pub id: String,
    /// The text to append to the file now, if any.
    pub write: Option<String>,
}

/// Entries that are not part of the transcript yet: they are, once they are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    entries: Vec<Entry>,
    pub write: Write,
}

impl Planned {
    pub fn ids(&self) -> Vec<String> {
        self.entries.iter().map(|entry| entry.id().unwrap_or_default().to_owned()).collect()
    }
}

/// The text that makes entries durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// To be appended to the journal.
    Journal(String),
    /// To be appended to the file, which may not exist yet. The journal is of no use after that.
    File(String),
}

impl TranscriptFile {
    /// A new session that no file holds yet.
    pub fn create(cwd: &str, parent: Option<&str>, stamp: &mut Stamp<'_>) -> Self {
        let id = (stamp.fresh_id)();
        Self::begin(NewSession { id: &id, cwd, parent }, stamp)
    }

    /// The same, under a name of its own.
    pub fn begin(session: NewSession<'_>, stamp: &Stamp<'_>) -> Self {
        let header = Header::new(session, stamp.now);
        Self { transcript: Transcript::new(header), cwd: session.cwd.to_owned(), disk: Disk::default() }
    }

    /// Opens a file with this text; `None` is a file that does not exist. `cwd` is for a session that
    /// does not name its own.
    pub fn open(file: Option<&str>, cwd: &str, stamp: &mut Stamp<'_>) -> (Self, OnOpen) {
        let file = file.map(|file| Arc::new(file.to_owned()));
        let begin = |stamp: &mut Stamp<'_>| Self::create(cwd, None, stamp);
        Self::open_or(begin, file.as_ref(), "", cwd, stamp)
    }

    /// Opens a file with this text and a journal with whole lines (see [`super::journal`]); a session
    /// that does not exist yet, or has lost its name, is `session`.
    pub fn resume(
        file: Option<&Arc<String>>,
        journal: &str,
        session: NewSession<'_>,
        stamp: &mut Stamp<'_>,
    ) -> (Self, OnOpen) {
        let begin = |stamp: &mut Stamp<'_>| Self::begin(session, stamp);
        Self::open_or(begin, file, journal, session.cwd, stamp)
    }

    fn open_or(
        begin: impl Fn(&mut Stamp<'_>) -> Self,
        file: Option<&Arc<String>>,
        journal: &str,
        cwd: &str,
        stamp: &mut Stamp<'_>,
    ) -> (Self, OnOpen) {
        let has_text = file.is_some_and(|file| !text::trim(file).is_empty());
        let journal_header = journal::entries(journal).next().and_then(|first| Header::parse(first.line()));
        let header_in_journal = journal_header.is_some();
        let (mut opened, action) = match (file, journal_header) {
            // Only the journal knows what the session is called.
            (_, Some(header)) if !has_text => {
                let cwd = header.cwd().unwrap_or(cwd).to_owned();
                (Self { transcript: Transcript::new(header), cwd, disk: Disk::default() }, OnOpen::Nothing)
            }
            (None, _) => (begin(stamp), OnOpen::Nothing),
            (Some(file), _) => Self::of_text(begin, file, cwd, stamp),
        };
        if let Pending::Lines(lines) = journal::pending(file.map(|file| file.as_str()), journal) {
            for entry in journal::entries(&lines).filter(|entry| entry.kind() != EntryKind::Session) {
                opened.transcript.take_in(entry);
            }
        }
        opened.disk.header_in_journal = header_in_journal;
        opened.disk.journaled = opened.transcript.entries().len();
        (opened, action)
    }

    fn of_text(
        begin: impl Fn(&mut Stamp<'_>) -> Self,
        file: &Arc<String>,
        cwd: &str,
        stamp: &mut Stamp<'_>,
    ) -> (Self, OnOpen) {
        if let Some(migrated) = version::migrate(file, stamp)
            && let Some(transcript) = Transcript::read(&migrated.text)
        {
            let keep_copy = migrated.unreadable > 0;
            let opened = Self::on_disk(transcript, &migrated.text, cwd);
            return (opened, OnOpen::Replace { text: migrated.text, keep_copy });
        }
        if let Some(transcript) = Transcript::read_shared(file) {
            return (Self::on_disk(transcript, file, cwd), OnOpen::Nothing);
        }
        let mut fresh = begin(stamp);
        fresh.disk.has_header = true;
        let text = fresh.transcript.header().line() + "\n";
        let nothing_to_keep = text::trim(file).is_empty();
        let action = if nothing_to_keep {
            OnOpen::Replace { text, keep_copy: false }
        } else {
            OnOpen::SetAside { text }
        };
        (fresh, action)
    }

    /// The end of a file that is too long to be held as a whole.
    pub fn of_window(window: Transcript, unterminated: bool, cwd: &str) -> Self {
        let cwd = window.header().cwd().unwrap_or(cwd).to_owned();
        let entries = window.entries().len();
        let disk =
            Disk { has_header: true, entries, unterminated, header_in_journal: false, journaled: entries };
        Self { transcript: window, cwd, disk }
    }

    /// A transcript that was read from this text.
    pub(super) fn on_disk(transcript: Transcript, file: &str, cwd: &str) -> Self {
        Self::of_window(transcript, !file.is_empty() && !file.ends_with('\n'), cwd)
    }

    /// The same, for a session that goes on in another folder.
    #[must_use]
    pub fn working_in(mut self, cwd: &str) -> Self {
        cwd.clone_into(&mut self.cwd);
        self
    }

    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    pub fn cwd(&self) -> &str {
        &self.cwd
    }

    /// See [`Transcript::move_leaf`]; the file does not change.
    pub fn move_leaf(&mut self, id: &str) -> Result<(), UnknownEntry> {
        self.transcript.move_leaf(id)
    }

    /// See [`Transcript::move_leaf_to_end`]; the file does not change.
    pub fn move_leaf_to_end(&mut self) {
        self.transcript.move_leaf_to_end();
    }

    /// See [`Transcript::reset_leaf`]; the file does not change.
    pub fn reset_leaf(&mut self) {
        self.transcript.reset_leaf();
    }

    pub fn append(&mut self, new: NewEntry, stamp: &mut Stamp<'_>) -> Result<Appended, UnknownEntry> {
        let planned = self.plan(vec![new], stamp)?;
        Ok(self.appended(planned))
    }

    fn appended(&mut self, planned: Planned) -> Appended {
        let id = planned.ids().pop().unwrap_or_default();
        let write = match &planned.write {
            Write::Journal(_) => None,
            Write::File(text) => Some(text.clone()),
        };
        self.keep(planned);
        Appended { id, write }
    }

    /// What an append of these entries, one below the other, would write.
    pub fn plan(&self, new: Vec<NewEntry>, stamp: &mut Stamp<'_>) -> Result<Planned, UnknownEntry> {
        let mut entries = Vec::with_capacity(new.len());
        for new in new {
            entries.push(self.transcript.placed(new, &entries, stamp)?);
        }
        Ok(self.planned(entries))
    }

    /// What leaving the branch for `target` with a summary would write.
    pub fn plan_summary(
        &self,
        target: Option<&str>,
        left: BranchSummary,
        stamp: &mut Stamp<'_>,
    ) -> Result<Planned, UnknownEntry> {
        let summary = self.transcript.placed_summary(target, left, stamp)?;
        Ok(self.planned(vec![summary]))
    }

    fn planned(&self, entries: Vec<Entry>) -> Planned {
        let is_answered = self.transcript.has_assistant() || entries.iter().any(Entry::is_assistant_message);
        let mut text = String::new();
        let (has_header, held) = if is_answered {
            if self.disk.unterminated {
                text.push('\n');
            }
            (self.disk.has_header, self.disk.entries)
        } else {
            (self.disk.header_in_journal, self.disk.journaled)
        };
        if !has_header {
            push_line(&mut text, &self.transcript.header().line());
        }
        let unwritten = self.transcript.entries().get(held..).unwrap_or_default();
        for entry in unwritten.iter().chain(&entries) {
            push_line(&mut text, entry.line());
        }
        let write = if is_answered { Write::File(text) } else { Write::Journal(text) };
        Planned { entries, write }
    }

    /// Takes in entries whose text was written.
    pub fn keep(&mut self, planned: Planned) {
        for entry in planned.entries {
            self.transcript.push(entry);
        }
        let entries = self.transcript.entries().len();
        self.disk.journaled = entries;
        match planned.write {
            Write::Journal(_) => self.disk.header_in_journal = true,
            Write::File(_) => {
                self.disk = Disk { has_header: true, entries, journaled: entries, ..Disk::default() };
            }
        }
    }

    /// Makes a session ready for a run: a new file takes the name and folder of the run.
    ///
    /// In a file that holds no answer the run starts at the root; the reference empties it, we leave
    /// its lines off the branch.
    pub fn prepare_for_run(&mut self, existed: bool, session_id: &str, workspace: &str) {
        if !existed {
            self.transcript.header_mut().adopt(session_id, workspace);
        } else if !self.transcript.has_assistant() {
            self.transcript.reset_leaf();
        }
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// The text of a file that is made before the first run, if there is none.
pub fn header_before_run(exists: bool, session_id: &str, cwd: &str, stamp: &Stamp<'_>) -> Option<String> {
    let session = NewSession { id: session_id, cwd, parent: None };
    (!exists).then(|| Header::for_run(session, stamp.now).line() + "\n")
}

/// The text of a file that is made for something to be mirrored into it, if there is none.
pub fn header_before_mirror(exists: bool, session_id: &str, cwd: &str, stamp: &Stamp<'_>) -> Option<String> {
    let session = NewSession { id: session_id, cwd, parent: None };
    (!exists).then(|| Header::new(session, stamp.now).line() + "\n")
}

/// How much of a file [`starts_a_session`] looks at.
pub const START_BYTES: usize = 512;

/// Whether the first line of a file, within its first bytes, is a header. A longer one hides the file
/// from the search for the most recent session (§2.2).
pub fn starts_a_session(file: &[u8]) -> bool {
    let start = String::from_utf8_lossy(file.get(..START_BYTES).unwrap_or(file));
    let first_line = start.split('\n').next().unwrap_or_default();
    Header::parse(first_line).is_some()
}

/// A file that may be gone on with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate<'f> {
    pub name: &'f str,
    /// Its first [`START_BYTES`], or more.
    pub start: &'f [u8],
    /// Any clock; the largest is the newest.
    pub modified: i64,
}

/// The session that was written last; of two at the same time the one listed first.
pub fn most_recent<'f>(files: &[Candidate<'f>]) -> Option<Candidate<'f>> {
    let sessions = files.iter().filter(|file| file.name.ends_with(".jsonl") && starts_a_session(file.start));
    sessions.copied().reduce(|newest, file| if file.modified > newest.modified { file } else { newest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use jiff::Timestamp;

    const HEADER: &str =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-15T09:30:00.000Z","cwd":"/w"}"#;
    const ANSWER: &str = r#"{"type":"message","id":"a","parentId":null,"message":{"role":"assistant"}}"#;

    fn message(role: &str) -> NewEntry {
        let mut message = Message::default();
        message.set("role", role);
        NewEntry::Message(message)
    }

    /// Opens `file`, appends messages of these roles, and tells what opening did and the file that is
    /// left.
    fn story(file: Option<&str>, roles: &[&str]) -> (OnOpen, String) {
        let mut count = 0;
        let mut fresh = || {
            count += 1;
            format!("{count:08}-")
        };
        let mut stamp = Stamp { now: Timestamp::UNIX_EPOCH, fresh_id: &mut fresh };
        let (mut opened, action) = TranscriptFile::open(file, "/cwd", &mut stamp);
        let mut text = match &action {
            OnOpen::Nothing => file.unwrap_or_default().to_owned(),
            OnOpen::Replace { text, .. } | OnOpen::SetAside { text } => text.clone(),
        };
        for role in roles {
            text.push_str(
                &opened.append(message(role), &mut stamp).expect("appended").write.unwrap_or_default(),
            );
        }
        (action, text)
    }

    fn line(id: u8, parent: &str, role: &str) -> String {
        format!(
            r#"{{"type":"message","id":"{id:08}","parentId":{parent},"timestamp":"1970-01-01T00:00:00.000Z","message":{{"role":"{role}"}}}}"#
        )
    }

    #[test]
    fn nothing_is_written_before_the_first_answer_and_nothing_is_left_out_then() {
        assert_eq!(story(None, &["user", "user"]).1, "");
        let (_, text) = story(None, &["user", "assistant", "user"]);
        assert_eq!(text.lines().count(), 4);
        let existing = format!("{HEADER}\n");
        assert_eq!(story(Some(&existing), &["user"]), (OnOpen::Nothing, existing.clone()));
        assert_eq!(
            story(Some(&existing), &["user", "assistant"]).1,
            format!("{HEADER}\n{}\n{}\n", line(1, "null", "user"), line(2, "\"00000001\"", "assistant"))
        );
    }

    #[test]
    fn a_line_without_its_end_is_ended_first() {
        let whole = format!("{HEADER}\n{ANSWER}");
        assert_eq!(story(Some(&whole), &["user"]).1, format!("{whole}\n{}\n", line(1, "\"a\"", "user")));
        let torn = format!("{HEADER}\n{ANSWER}\n{{\"type\":\"mess");
        assert_eq!(story(Some(&torn), &["user"]).1, format!("{torn}\n{}\n", line(1, "\"a\"", "user")));
    }

    #[test]
    fn a_file_that_is_no_transcript_is_put_aside() {
        let header = r#"{"type":"session","version":3,"id":"00000001-","timestamp":"1970-01-01T00:00:00.000Z","cwd":"/cwd"}"#;
        let fresh = format!("{header}\n");
        for foreign in [ANSWER, "notes of mine", r#"{"type":"session","id":4}"#] {
            assert_eq!(story(Some(foreign), &[]).0, OnOpen::SetAside { text: fresh.clone() }, "{foreign}");
        }
        for empty in ["", "\n \n"] {
            let replaced = OnOpen::Replace { text: fresh.clone(), keep_copy: false };
            assert_eq!(story(Some(empty), &[]).0, replaced, "{empty:?}");
        }
    }

    #[test]
    fn until_the_first_answer_the_journal_gets_what_the_file_will_get() {
        let mut count = 0;
        let mut fresh = || {
            count += 1;
            format!("{count:08}-")
        };
        let mut stamp = Stamp { now: Timestamp::UNIX_EPOCH, fresh_id: &mut fresh };
        let session = NewSession { id: "s", cwd: "/w", parent: None };
        let mut file = TranscriptFile::begin(session, &stamp);
        let header = file.transcript().header().line();
        let mut journal = String::new();
        for expected in [
            format!("{header}\n{}\n", line(1, "null", "user")),
            format!("{}\n", line(2, "\"00000001\"", "user")),
        ] {
            let planned = file.plan(vec![message("user")], &mut stamp).expect("planned");
            assert_eq!(planned.write, Write::Journal(expected.clone()));
            file.keep(planned);
            journal.push_str(&expected);
        }
        let answered = format!("{journal}{}\n", line(3, "\"00000002\"", "assistant"));
        let planned = file.plan(vec![message("assistant")], &mut stamp).expect("planned");
        assert_eq!(planned.write, Write::File(answered.clone()));
        // Whoever finds only the journal goes on in the same way.
        let (again, action) = TranscriptFile::resume(None, &journal, session, &mut stamp);
        assert_eq!((again.transcript().leaf_id(), action), (Some("00000002"), OnOpen::Nothing));
        assert_eq!(again.planned(planned.entries.clone()).write, Write::File(answered));
        file.keep(planned);
        let planned = file.plan(vec![message("user")], &mut stamp).expect("planned");
        assert_eq!(planned.write, Write::File(format!("{}\n", line(4, "\"00000003\"", "user"))));
    }

    #[test]
    fn a_run_without_earlier_answer_starts_at_the_root_and_keeps_the_lines() {
        let file = format!("{HEADER}\n{}\n", line(9, "null", "user"));
        let mut fresh = || "11111111-".to_owned();
        let mut stamp = Stamp { now: Timestamp::UNIX_EPOCH, fresh_id: &mut fresh };
        let (mut opened, _) = TranscriptFile::open(Some(&file), "/cwd", &mut stamp);
        opened.prepare_for_run(true, "other", "/ws");
        assert_eq!(opened.transcript().leaf_id(), None);
        assert_eq!(opened.transcript().entries().len(), 1);
        assert_eq!(opened.transcript().session_id(), "s");
        let (mut new, _) = TranscriptFile::open(None, "/cwd", &mut stamp);
        new.prepare_for_run(false, "mine", "/ws");
        assert_eq!((new.transcript().session_id(), new.transcript().header().cwd()), ("mine", Some("/ws")));
    }

    #[test]
    fn the_most_recent_session_is_found_by_its_first_bytes() {
        let long = format!(r#"{{"type":"session","id":"s","cwd":"{}"}}"#, "x".repeat(600));
        assert!(starts_a_session(HEADER.as_bytes()));
        assert!(starts_a_session(format!("{HEADER}\nrest").as_bytes()));
        assert!(!starts_a_session(long.as_bytes()));
        assert!(!starts_a_session(b""));
        assert!(!starts_a_session(b"\xff\xfe"));
        let file =
            |name, start: &'static str, modified| Candidate { name, start: start.as_bytes(), modified };
        let files = [
            file("old.jsonl", HEADER, 1),
            file("new.jsonl", HEADER, 2),
            file("same.jsonl", HEADER, 2),
            file("notes.txt", HEADER, 9),
            file("torn.jsonl", "{", 9),
        ];
        assert_eq!(most_recent(&files).map(|file| file.name), Some("new.jsonl"));
        assert_eq!(most_recent(&files[3..]), None);
    }
}
