//! Conversations on disk (`transcripts.md` §2, §4, §7).

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tempfile::TempDir;
use yabby_domain::inbound::ThreadId;
use yabby_domain::json::Value;
use yabby_domain::message::{Message, text_block};
use yabby_domain::seam::{Begin, Compacted, Fork, Part, StoreError, TranscriptStore};
use yabby_domain::transcript::Transcript;
use yabby_domain::transcript::file_name::{ArchiveReason, TranscriptId};
use yabby_domain::transcript::line_compact::MaxLines;
use yabby_domain::transcript::preview::PreviewLimits;
use yabby_domain::transcript::tree::{BranchSummary, NewCompaction, NewEntry};
use yabby_store::files::transcripts::{Settings, TranscriptFolder, Writer};
use yabby_testkit::clock::FixedClock;

/// 2026-01-15T09:30:00.000Z
const NOW: i64 = 1_768_469_400_000;
const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-15T09:30:00.000Z","cwd":"/w"}"#;

pub(crate) struct Place {
    folder: TempDir,
    pub(crate) store: TranscriptFolder,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = TranscriptFolder::open_with(folder.path(), settings());
        Self { folder, store }
    }

    fn with(name: &str, text: impl AsRef<[u8]>) -> Self {
        let place = Self::new();
        fs::write(place.path(name), text).unwrap();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(fs::read(self.path(name)).unwrap()).unwrap()
    }

    /// The names of all files, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let files = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn open(&self, name: &str) -> Writer {
        self.store.open_blocking(&id(name), &begin()).unwrap()
    }

    fn told(&self, name: &str) -> Vec<String> {
        told(&self.store, &id(name))
    }
}

pub(crate) fn settings() -> Settings {
    Settings { clock: Arc::new(FixedClock::at(NOW)), lock_timeout: Duration::ZERO, ..Settings::default() }
}

pub(crate) fn id(name: &str) -> TranscriptId {
    TranscriptId::new(name, None).unwrap()
}

pub(crate) fn begin() -> Begin {
    Begin { session_id: "s".to_owned(), cwd: "/w".to_owned(), parent: None }
}

pub(crate) fn said(role: &str, text: &str) -> NewEntry {
    let mut message = Message::default();
    message.set("role", role);
    message.set("content", vec![text_block(text)]);
    NewEntry::Message(message)
}

fn text_of(message: &Message) -> String {
    match message.blocks().first() {
        Some(block) => block.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
        None => {
            message.text_field("summary").or(message.text_field("content")).unwrap_or_default().to_owned()
        }
    }
}

/// The context in words, by way of the whole and of the end alone.
pub(crate) fn told(store: &TranscriptFolder, id: &TranscriptId) -> Vec<String> {
    let whole = store.load_blocking(id).unwrap().unwrap().context();
    let plan = store.context_plan(id).unwrap().unwrap();
    assert_eq!(plan.messages().collect::<Result<Vec<_>, _>>().unwrap(), whole.messages);
    assert_eq!(plan.into_context().unwrap(), whole);
    whole.messages.iter().map(text_of).collect()
}

fn entry(id: &str, parent: Option<&str>, role: &str, text: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-15T09:30:00.000Z","message":{{"role":"{role}","content":"{text}"}}}}"#
    )
}

fn file(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A question and its answer.
fn answered() -> String {
    file(&[HEADER, &entry("a", None, "user", "question"), &entry("b", Some("a"), "assistant", "answer")])
}

#[test]
fn questions_wait_in_a_journal_for_the_first_answer() {
    let place = Place::new();
    let mut writer = place.open("s");
    assert_eq!(place.names(), ["s.jsonl.lock"]);
    writer.append(vec![said("user", "one")]).unwrap();
    writer.append(vec![said("user", "two")]).unwrap();
    assert_eq!(place.names(), ["s.jsonl.journal", "s.jsonl.lock"]);
    assert_eq!(fs::metadata(place.path("s.jsonl.journal")).unwrap().permissions().mode() & 0o777, 0o600);
    let journal = place.text("s.jsonl.journal");
    assert_eq!(place.told("s"), ["one", "two"]);
    drop(writer);
    let mut writer = place.open("s");
    assert_eq!(writer.transcript().entries().len(), 2);
    writer.append(vec![said("assistant", "three"), said("user", "four")]).unwrap();
    assert_eq!(place.names(), ["s.jsonl", "s.jsonl.lock"]);
    let text = place.text("s.jsonl");
    assert!(text.starts_with(&journal), "the file gets exactly what was in the journal");
    assert_eq!(fs::metadata(place.path("s.jsonl")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(place.told("s"), ["one", "two", "three", "four"]);
    drop(writer);
    assert_eq!(place.names(), ["s.jsonl"]);
}

#[test]
fn a_file_without_an_answer_gets_its_questions_with_the_first_one() {
    let existing = file(&[HEADER, &entry("a", None, "user", "zero")]);
    let place = Place::with("s.jsonl", &existing);
    let mut writer = place.open("s");
    writer.append(vec![said("user", "one")]).unwrap();
    assert_eq!(place.text("s.jsonl"), existing);
    assert_eq!(place.text("s.jsonl.journal").lines().count(), 2);
    assert_eq!(place.told("s"), ["zero", "one"]);
    writer.append(vec![said("assistant", "two")]).unwrap();
    assert!(place.text("s.jsonl").starts_with(&existing));
    assert_eq!(place.text("s.jsonl").lines().count(), 4);
    assert_eq!(place.told("s"), ["zero", "one", "two"]);
}

#[test]
fn a_journal_that_was_written_to_the_file_in_part_is_seen_once() {
    let (one, two) = (entry("a", None, "user", "one"), entry("b", Some("a"), "user", "two"));
    for in_file in [file(&[HEADER]), file(&[HEADER, &one]), format!("{HEADER}\n{one}\n{}", &two[..30])] {
        let place = Place::with("s.jsonl", &in_file);
        fs::write(place.path("s.jsonl.journal"), file(&[HEADER, &one, &two]) + "{\"torn").unwrap();
        assert_eq!(place.told("s"), ["one", "two"], "{in_file}");
        let mut writer = place.open("s");
        writer.append(vec![said("user", "three")]).unwrap();
        assert!(!place.text("s.jsonl.journal").contains("torn"));
        assert_eq!(place.told("s"), ["one", "two", "three"], "{in_file}");
        writer.append(vec![said("assistant", "four")]).unwrap();
        drop(writer);
        assert_eq!(place.names(), ["s.jsonl"]);
        assert_eq!(place.told("s"), ["one", "two", "three", "four"], "{in_file}");
        assert_eq!(place.text("s.jsonl").matches("\"two\"").count(), 1, "{in_file}");
    }
}

#[test]
fn questions_survive_whatever_another_program_does_to_their_file() {
    for emptied in [true, false] {
        let place = Place::with("s.jsonl", file(&[HEADER, &entry("a", None, "user", "zero")]));
        let mut writer = place.open("s");
        writer.append(vec![said("user", "one")]).unwrap();
        writer.append(vec![said("user", "two")]).unwrap();
        drop(writer);
        if emptied {
            fs::write(place.path("s.jsonl"), "").unwrap();
        } else {
            fs::remove_file(place.path("s.jsonl")).unwrap();
        }
        assert_eq!(place.told("s"), ["one", "two"]);
        let mut writer = place.open("s");
        writer.append(vec![said("user", "three")]).unwrap();
        assert_eq!(place.told("s"), ["one", "two", "three"]);
        writer.append(vec![said("assistant", "four")]).unwrap();
        assert_eq!(place.told("s"), ["one", "two", "three", "four"]);
        assert_eq!(place.text("s.jsonl").matches("\"session\"").count(), 1);
        assert_eq!(place.names(), ["s.jsonl", "s.jsonl.lock"]);
    }
}

#[test]
fn a_journal_that_its_file_has_overtaken_does_not_come_back() {
    let place = Place::with("s.jsonl", answered());
    // All of it is in the file: the last step before the end was missing.
    fs::write(place.path("s.jsonl.journal"), file(&[HEADER, &entry("a", None, "user", "question")])).unwrap();
    assert_eq!(place.told("s"), ["question", "answer"]);
    drop(place.open("s"));
    assert_eq!(place.names(), ["s.jsonl"]);
    // Somebody else began the conversation anew, and answered.
    let other = file(&[&entry("x", None, "user", "forgotten")]);
    fs::write(place.path("s.jsonl.journal"), &other).unwrap();
    assert_eq!(place.told("s"), ["question", "answer"]);
    drop(place.open("s"));
    assert_eq!(place.names(), ["s.jsonl", "s.jsonl.journal.bak.2026-01-15T09-30-00.000Z"]);
    assert_eq!(place.text("s.jsonl.journal.bak.2026-01-15T09-30-00.000Z"), other);
    assert_eq!(place.text("s.jsonl"), answered());
}

#[test]
fn one_writer_at_a_time() {
    let place = Place::new();
    let first = place.open("s");
    let lock = place.text("s.jsonl.lock");
    let expected =
        format!("{{\n  \"pid\": {},\n  \"createdAt\": \"2026-01-15T09:30:00.000Z\"\n}}", std::process::id());
    assert_eq!(lock, expected);
    let error = place.store.open_blocking(&id("s"), &begin()).err().unwrap();
    let path = place.folder.path().canonicalize().unwrap().join("s.jsonl.lock");
    assert_eq!(
        error.to_string(),
        format!("session file locked (timeout 0ms): pid={} {}", std::process::id(), path.display())
    );
    drop(first);
    drop(place.open("s"));
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn a_writer_that_waits_gets_its_turn() {
    let place = Place::new();
    let patient = Settings { lock_timeout: Duration::from_secs(600), ..settings() };
    let store = TranscriptFolder::open_with(place.folder.path(), patient);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let store = store.clone();
            scope.spawn(move || {
                for round in 0..5 {
                    let mut writer_of = store.open_blocking(&id("s"), &begin()).unwrap();
                    writer_of.append(vec![said("assistant", &format!("{writer} {round}"))]).unwrap();
                }
            });
        }
    });
    assert_eq!(place.told("s").len(), 20);
}

#[test]
fn locks_of_nobody_are_removed_and_those_of_others_are_not() {
    let lock = |pid: i64, time: &str| format!(r#"{{"pid":{pid},"createdAt":"{time}"}}"#);
    let dead = {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        i64::from(child.id())
    };
    let own = i64::from(std::process::id());
    let parent = i64::from(std::os::unix::process::parent_id());
    let now = Timestamp::now();
    let in_a_minute = now + Duration::from_secs(60);
    let long_ago = "2001-01-01T00:00:00.000Z";
    //  lock                                          held
    let table = [
        (lock(dead, &now.to_string()), false),
        (lock(own, &now.to_string()), false),
        (lock(parent, &in_a_minute.to_string()), true),
        // Nobody who runs now got a lock back then.
        (lock(parent, long_ago), false),
        ("{}".to_owned(), true),
    ];
    for (lock, is_held) in table {
        let place = Place::with("s.jsonl.lock", &lock);
        let at = if lock.contains(long_ago) { 978_307_200_000 } else { now.as_millisecond() };
        let settings = Settings { clock: Arc::new(FixedClock::at(at)), ..settings() };
        let store = TranscriptFolder::open_with(place.folder.path(), settings);
        let opened = store.open_blocking(&id("s"), &begin());
        if is_held {
            assert!(matches!(opened.err(), Some(StoreError::TranscriptLocked(_))), "{lock}");
            assert_eq!(place.text("s.jsonl.lock"), lock);
        } else {
            let writer = opened.unwrap();
            assert_eq!(place.names(), ["s.jsonl.lock"], "{lock}");
            assert!(place.text("s.jsonl.lock").contains(&format!("\"pid\": {own}")), "{lock}");
            drop(writer);
            assert_eq!(place.names(), [""; 0], "{lock}");
        }
    }
}

#[test]
fn a_writer_whose_lock_was_taken_away_writes_no_more() {
    let place = Place::new();
    let mut writer = place.open("s");
    fs::write(place.path("foreign"), "{}").unwrap();
    fs::rename(place.path("foreign"), place.path("s.jsonl.lock")).unwrap();
    let error = writer.append(vec![said("user", "one")]).unwrap_err().to_string();
    assert!(
        error.ends_with("s.jsonl was replaced or moved away by another program; open it again"),
        "{error}"
    );
    drop(writer);
    assert_eq!(place.names(), ["s.jsonl.lock"]);
    assert_eq!(place.text("s.jsonl.lock"), "{}");
}

#[test]
fn what_others_append_meanwhile_is_never_glued_to() {
    let place = Place::with("s.jsonl", answered());
    let mut writer = place.open("s");
    writer.append(vec![said("user", "one")]).unwrap();
    let foreign = entry("f", Some("b"), "assistant", "mirrored");
    let text = place.text("s.jsonl") + &foreign;
    let mut file = fs::OpenOptions::new().append(true).open(place.path("s.jsonl")).unwrap();
    std::io::Write::write_all(&mut file, foreign.as_bytes()).unwrap();
    writer.append(vec![said("user", "two")]).unwrap();
    assert!(place.text("s.jsonl").starts_with(&(text + "\n{")));
    assert_eq!(place.told("s"), ["question", "answer", "one", "two"]);
    // A file that somebody replaced is not written to any more.
    fs::write(place.path("other"), answered()).unwrap();
    fs::rename(place.path("other"), place.path("s.jsonl")).unwrap();
    assert!(matches!(writer.append(vec![said("user", "three")]), Err(StoreError::Replaced { .. })));
    assert_eq!(place.text("s.jsonl"), answered());
}

#[test]
fn an_unterminated_last_line_is_ended_or_fenced_off() {
    let whole = answered();
    for before in [whole.trim_end().to_owned(), format!("{whole}{{\"type\":\"mess")] {
        let place = Place::with("s.jsonl", &before);
        let mut writer = place.open("s");
        writer.append(vec![said("user", "more")]).unwrap();
        assert!(place.text("s.jsonl").starts_with(&format!("{before}\n{{")));
        assert_eq!(place.told("s"), ["question", "answer", "more"]);
        assert_eq!(place.names(), ["s.jsonl", "s.jsonl.lock"]);
    }
}

#[test]
fn a_missing_header_never_wipes_a_file() {
    let body = file(&[&entry("a", None, "user", "question"), &entry("b", Some("a"), "assistant", "é")]);
    let body = [body.as_bytes(), b"{\"broken\":\"\xff\"}\n"].concat();
    let place = Place::with("s.jsonl", &body);
    let error = place.store.load_blocking(&id("s")).unwrap_err().to_string();
    assert!(error.contains("s.jsonl is damaged") && error.contains("yabby doctor --fix"), "{error}");
    assert_eq!(fs::read(place.path("s.jsonl")).unwrap(), body, "reading changes nothing");
    let mut writer = place.open("s");
    let archive = "s.jsonl.bak.2026-01-15T09-30-00.000Z";
    assert_eq!(place.names(), ["s.jsonl", archive, "s.jsonl.lock"]);
    assert_eq!(fs::read(place.path(archive)).unwrap(), body);
    assert_eq!(fs::read(place.path("s.jsonl")).unwrap(), [HEADER.as_bytes(), b"\n", &body].concat());
    assert_eq!(writer.transcript().entries().len(), 3);
    writer.append(vec![said("user", "more")]).unwrap();
    assert_eq!(place.store.load_blocking(&id("s")).unwrap().unwrap().session_id(), "s");
}

#[test]
fn what_is_no_transcript_is_set_aside_and_never_overwritten() {
    let place = Place::with("s.jsonl", "notes of mine\n{\"level\":\"info\"}\n");
    assert!(matches!(place.store.load_blocking(&id("s")), Err(StoreError::Damaged { .. })));
    drop(place.open("s"));
    let archive = "s.jsonl.bak.2026-01-15T09-30-00.000Z";
    assert_eq!(place.names(), ["s.jsonl", archive]);
    assert_eq!(place.text(archive), "notes of mine\n{\"level\":\"info\"}\n");
    // At the same instant once more: the first copy stays.
    fs::write(place.path("s.jsonl"), "other notes").unwrap();
    drop(place.open("s"));
    assert_eq!(place.text(&format!("{archive}.2")), "other notes");
    assert_eq!(place.text(archive), "notes of mine\n{\"level\":\"info\"}\n");
    assert_eq!(place.text("s.jsonl"), format!("{HEADER}\n"));
}

#[test]
fn older_files_are_brought_up_to_date_and_what_would_be_lost_is_kept() {
    let old = "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n";
    let place = Place::with("s.jsonl", old);
    drop(place.open("s"));
    assert_eq!(place.names(), ["s.jsonl"]);
    assert!(place.text("s.jsonl").contains("\"version\":3"));
    assert_eq!(place.told("s"), ["x"]);
    for lossy in [format!("{old}torn{{\n").into_bytes(), [old.as_bytes(), b"{\"x\":\"\xff\"}\n"].concat()] {
        let place = Place::with("s.jsonl", &lossy);
        drop(place.open("s"));
        let copy = format!("s.jsonl.bak-{}-{NOW}", std::process::id());
        assert_eq!(place.names(), ["s.jsonl".to_owned(), copy.clone()]);
        assert_eq!(fs::read(place.path(&copy)).unwrap(), lossy);
    }
}

#[test]
fn bytes_that_are_no_text_stay_as_they_are() {
    let broken = [answered().as_bytes(), b"{\"type\":\"message\",\"id\":\"c\",\"parentId\":\"b\",\"message\":{\"role\":\"user\",\"content\":\"\xff\"}}\n"].concat();
    let place = Place::with("s.jsonl", &broken);
    assert_eq!(place.told("s"), ["question", "answer", "\u{fffd}"]);
    let mut writer = place.open("s");
    writer.append(vec![said("user", "more")]).unwrap();
    assert!(fs::read(place.path("s.jsonl")).unwrap().starts_with(&broken));
    assert_eq!(place.told("s"), ["question", "answer", "\u{fffd}", "more"]);
    let damage = place.store.inspect(&id("s")).unwrap();
    assert_eq!(damage.len(), 1);
    assert_eq!(damage[0].to_string(), "line 4: has bytes that are not UTF-8; they are read as \u{fffd}");
}

#[test]
fn hostile_lines_are_read_and_survived() {
    let long = "x".repeat(3_000_000);
    let hostile = file(&[
        HEADER,
        "null",
        &entry("a", Some("c"), "user", "one"),
        &entry("b", Some("a"), "assistant", &long),
        r#"{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":"\ud83d"}}"#,
        &entry("a", Some("c"), "user", "twin"),
    ]);
    let place = Place::with("s.jsonl", &hostile);
    assert_eq!(place.told("s").len(), 3);
    assert_eq!(place.store.inspect(&id("s")).unwrap().len(), 4);
    let mut writer = place.open("s");
    writer.append(vec![said("user", "more")]).unwrap();
    assert!(place.text("s.jsonl").starts_with(&hostile));
    assert_eq!(place.told("s").len(), 4);
}

/// A chain of messages, `compacted_at` one of them a compaction that keeps the ten entries before it.
fn long_file(entries: usize, compacted_at: Option<usize>) -> String {
    let mut text = format!("{HEADER}\n");
    let padding = "words ".repeat(40);
    text.push_str(
        "{\"type\":\"thinking_level_change\",\"id\":\"e0\",\"parentId\":null,\"thinkingLevel\":\"low\"}\n",
    );
    for at in 1..entries {
        let (id, parent) = (format!("e{at}"), format!("e{}", at - 1));
        if Some(at) == compacted_at {
            text.push_str(&format!(
                "{{\"type\":\"compaction\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"summary\":\"before\",\"firstKeptEntryId\":\"e{}\",\"tokensBefore\":1}}\n",
                at - 10
            ));
            continue;
        }
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        text.push_str(&entry(&id, Some(&parent), role, &format!("{at} {padding}")));
        text.push('\n');
    }
    text
}

#[test]
fn of_a_long_conversation_only_the_end_is_held() {
    let text = long_file(6000, Some(5900));
    assert!(text.len() > 2_000_000);
    let place = Place::with("s.jsonl", &text);
    let mut writer = place.open("s");
    let whole = Transcript::read(&text).unwrap();
    assert!(!writer.transcript().is_whole());
    assert_eq!(writer.transcript().entries().len(), 110);
    assert_eq!(writer.transcript().context(), whole.context());
    assert_eq!(writer.transcript().context().thinking_level, "low");
    let ids = writer.append(vec![said("user", "more"), said("assistant", "yes")]).unwrap();
    assert_eq!(ids[0].len(), 36, "not all taken ids are known");
    assert_eq!(place.told("s").len(), whole.context().messages.len() + 2);
    // A step back within what is held needs no more than that.
    writer.move_leaf(Some(&ids[0])).unwrap();
    assert!(!writer.transcript().is_whole());
    assert_eq!(writer.transcript().context().messages.len(), whole.context().messages.len() + 1);
    // Whoever goes further back is given the whole.
    writer.append(vec![NewEntry::Label { target: "e7".into(), label: Some("early".into()) }]).unwrap();
    assert!(writer.transcript().is_whole());
    writer.move_leaf(Some("e10")).unwrap();
    assert_eq!(writer.transcript().context(), whole.context_at("e10"));
    writer.append(vec![said("user", "another way")]).unwrap();
    assert_eq!(place.told("s").len(), 11);
    assert!(place.text("s.jsonl").starts_with(&text));
}

#[test]
fn a_branch_before_the_end_of_a_long_conversation_is_found() {
    let place = Place::with("s.jsonl", long_file(6000, Some(5900)));
    let mut writer = place.open("s");
    writer.branch(Some("e5"), BranchSummary { summary: "gone astray".into(), ..Default::default() }).unwrap();
    let told = place.told("s");
    assert_eq!((told.len(), told.last().map(String::as_str)), (6, Some("gone astray")));
    assert_eq!(writer.transcript().context().messages.len(), 6);
    let unknown = writer.move_leaf(Some("nobody")).unwrap_err();
    assert_eq!(unknown.to_string(), "Entry nobody not found");
}

#[test]
fn a_long_conversation_without_compaction_is_told_message_by_message() {
    let place = Place::with("s.jsonl", long_file(6000, None));
    let plan = place.store.context_plan(&id("s")).unwrap().unwrap();
    assert_eq!(plan.messages().count(), 5999);
    assert_eq!(plan.thinking_level, "low");
    assert_eq!(place.told("s").len(), 5999);
    let mut writer = place.open("s");
    writer.append(vec![said("user", "more")]).unwrap();
    assert_eq!(writer.transcript().context().messages.len(), 6000);
}

#[test]
fn the_ends_of_a_conversation_are_read_without_the_rest() {
    let place = Place::with("s.jsonl", long_file(6000, None));
    assert!(place.store.title_source(&id("s")).unwrap().unwrap().starts_with("2 words"));
    assert!(place.store.last_message(&id("s")).unwrap().unwrap().starts_with("5999 words"));
    let items = place.store.preview(&id("s"), PreviewLimits::new(3, 20)).unwrap();
    let texts: Vec<&str> = items.iter().map(|item| item.text.as_str()).collect();
    assert_eq!(texts, ["5997 words words ...", "5998 words words ...", "5999 words words ..."]);
    let first = place.store.peek_blocking(&id("s"), Part::First(8)).unwrap().unwrap();
    assert_eq!(first, b"{\"type\":");
    // What is only in the journal counts as well.
    let mut writer = place.open("t");
    writer.append(vec![said("user", "only asked")]).unwrap();
    for text in [place.store.title_source(&id("t")), place.store.last_message(&id("t"))] {
        assert_eq!(text.unwrap().as_deref(), Some("only asked"));
    }
    assert_eq!(place.store.preview(&id("t"), PreviewLimits::default()).unwrap().len(), 1);
    assert_eq!(place.store.peek_blocking(&id("t"), Part::Last(2)).unwrap().unwrap(), b"}\n");
    assert_eq!(place.store.peek_blocking(&id("nobody"), Part::Last(2)).unwrap(), None);
    assert_eq!(place.store.title_source(&id("nobody")).unwrap(), None);
}

#[test]
fn every_kind_of_name_is_listed_the_newest_first() {
    let place = Place::new();
    let topic = TranscriptId::new("s", Some(&ThreadId::Text("a/b".into()))).unwrap();
    let pi = TranscriptId::of_file("2026-01-15T09-30-00-000Z_5d1c7a10.jsonl").unwrap();
    let all = [id("plain"), topic, pi];
    for (at, id) in all.iter().enumerate() {
        let path = place.path(&id.file_name());
        fs::write(&path, answered()).unwrap();
        let time = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + at as u64);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    }
    for noise in ["sessions.json", "s.jsonl.lock", "s.jsonl.bak.2026", "x.jsonl.journal", ".hidden.jsonl"] {
        fs::write(place.path(noise), "").unwrap();
    }
    fs::create_dir(place.path("folder.jsonl")).unwrap();
    let [plain, topic, pi] = all;
    assert_eq!(place.store.list_blocking().unwrap(), [pi.clone(), topic.clone(), plain.clone()]);
    assert_eq!(place.store.most_recent().unwrap(), Some(pi.clone()));
    // A question that is only in a journal is the newest thing said.
    let mut writer = place.store.open_blocking(&id("asked"), &begin()).unwrap();
    writer.append(vec![said("user", "one")]).unwrap();
    assert_eq!(place.store.list_blocking().unwrap()[0], id("asked"));
    assert_eq!(place.store.most_recent().unwrap(), Some(id("asked")));
    // What does not begin with a header is listed, but never gone on with by itself.
    fs::write(place.path("notes.jsonl"), "notes").unwrap();
    assert_eq!(place.store.list_blocking().unwrap().len(), 5);
    assert_ne!(place.store.most_recent().unwrap(), Some(id("notes")));
    for id in [topic, pi] {
        assert_eq!(told(&place.store, &id), ["question", "answer"]);
        drop(place.store.open_blocking(&id, &begin()).unwrap());
    }
    let nowhere = TranscriptFolder::open_with(place.path("nowhere"), settings());
    assert_eq!(nowhere.list_blocking().unwrap(), []);
    assert_eq!(nowhere.most_recent().unwrap(), None);
    assert!(!place.path("nowhere").exists());
}

#[test]
fn a_fork_is_a_file_of_its_own_that_names_its_parent() {
    let place = Place::with("s.jsonl", answered());
    let before = place.text("s.jsonl");
    let mut names = Vec::new();
    for fork in [Fork::Leaf, Fork::At("a".into()), Fork::Whole { cwd: "/elsewhere".into() }] {
        let new = place.store.fork_blocking(&id("s"), &fork).unwrap();
        assert!(new.as_str().starts_with("2026-01-15T09-30-00-000Z_"), "{new:?}");
        let loaded = place.store.load_blocking(&new).unwrap().unwrap();
        let parent = loaded.header().parent_session().unwrap().to_owned();
        assert_eq!(Path::new(&parent), place.path("s.jsonl"));
        let mut writer = place.store.open_blocking(&new, &begin()).unwrap();
        writer.append(vec![said("assistant", "elsewhere")]).unwrap();
        names.push(new);
    }
    assert_eq!(place.text("s.jsonl"), before);
    assert_eq!(told(&place.store, &names[0]), ["question", "answer", "elsewhere"]);
    assert_eq!(told(&place.store, &names[1]), ["question", "elsewhere"]);
    assert_eq!(told(&place.store, &names[2]), ["question", "answer", "elsewhere"]);
    assert_eq!(place.names().len(), 4);
    // What nobody answered yet can be forked as well.
    let mut writer = place.open("asked");
    writer.append(vec![said("user", "one")]).unwrap();
    let new = place.store.fork_blocking(&id("asked"), &Fork::Leaf).unwrap();
    assert_eq!(told(&place.store, &new), ["one"]);
    fs::write(place.path("notes.jsonl"), "notes").unwrap();
    for fork in [Fork::Leaf, Fork::Whole { cwd: "/".into() }] {
        let error = place.store.fork_blocking(&id("notes"), &fork).unwrap_err();
        assert!(matches!(error, StoreError::NoSource(_)), "{error}");
    }
}

#[test]
fn the_last_lines_are_kept_and_the_whole_is_archived() {
    let whole = long_file(500, None);
    let place = Place::with("s.jsonl", &whole);
    let writer = place.open("s");
    let refused = place.store.compact_blocking(&id("s"), MaxLines::at_most(9));
    assert!(matches!(refused, Err(StoreError::TranscriptLocked(_))));
    drop(writer);
    let Compacted::Done { kept: 9, archived } =
        place.store.compact_blocking(&id("s"), MaxLines::at_most(9)).unwrap()
    else {
        panic!("not compacted")
    };
    assert_eq!(archived, "s.jsonl.bak.2026-01-15T09-30-00.000Z");
    assert_eq!(place.text(&archived), whole);
    assert_eq!(place.text("s.jsonl").lines().next(), Some(HEADER));
    assert_eq!(place.told("s").len(), 9);
    assert_eq!(place.names(), ["s.jsonl".to_owned(), archived.clone()]);
    assert_ne!(
        fs::metadata(place.path("s.jsonl")).unwrap().ino(),
        fs::metadata(place.path(&archived)).unwrap().ino()
    );
    // Questions without an answer are left alone.
    let mut writer = place.open("asked");
    writer.append((0..5).map(|n| said("user", &n.to_string())).collect()).unwrap();
    drop(writer);
    assert_eq!(
        place.store.compact_blocking(&id("asked"), MaxLines::at_most(2)).unwrap(),
        Compacted::Untouched { kept: 6 }
    );
    assert_eq!(place.told("asked").len(), 5);
}

#[test]
fn a_conversation_is_put_away_with_all_that_belongs_to_it() {
    let place = Place::with("s.jsonl", answered());
    fs::write(place.path("s.json"), "{label: 'mine', /* a note */}").unwrap();
    let metadata = place.store.metadata(&id("s")).unwrap().unwrap();
    assert_eq!(metadata.get("label").and_then(Value::as_str), Some("mine"));
    let archived = place.store.archive_blocking(&id("s"), ArchiveReason::Deleted).unwrap().unwrap();
    assert_eq!(archived, "s.jsonl.deleted.2026-01-15T09-30-00.000Z");
    assert_eq!(place.names(), ["s.json.deleted.2026-01-15T09-30-00.000Z".to_owned(), archived.clone()]);
    assert_eq!(place.text(&archived), answered());
    // Once more at the same instant, of a conversation that only its journal holds.
    let mut writer = place.open("s");
    writer.append(vec![said("user", "again")]).unwrap();
    let journal = place.text("s.jsonl.journal");
    let refused = place.store.archive_blocking(&id("s"), ArchiveReason::Deleted);
    assert!(matches!(refused, Err(StoreError::TranscriptLocked(_))));
    drop(writer);
    let second = place.store.archive_blocking(&id("s"), ArchiveReason::Deleted).unwrap().unwrap();
    assert_eq!(second, format!("{archived}.2"));
    assert_eq!(place.text(&second), journal);
    assert_eq!(place.text(&archived), answered());
    assert_eq!(place.names().len(), 3);
    assert_eq!(place.store.archive_blocking(&id("s"), ArchiveReason::Deleted).unwrap(), None);
}

#[test]
fn a_conversation_in_two_parts_is_put_away_as_one() {
    let place = Place::with("s.jsonl", file(&[HEADER, &entry("a", None, "user", "one")]));
    let mut writer = place.open("s");
    writer.append(vec![said("user", "two")]).unwrap();
    drop(writer);
    let archived = place.store.archive_blocking(&id("s"), ArchiveReason::Backup).unwrap().unwrap();
    assert_eq!(place.names(), std::slice::from_ref(&archived));
    let whole = Transcript::read(&place.text(&archived)).unwrap();
    assert_eq!(whole.context().messages.iter().map(text_of).collect::<Vec<_>>(), ["one", "two"]);
}

#[test]
fn the_store_is_nobodys_metadata() {
    let place = Place::with("sessions.jsonl", answered());
    fs::write(place.path("sessions.json"), "{}").unwrap();
    assert_eq!(place.store.metadata(&id("sessions")).unwrap(), None);
    place.store.archive_blocking(&id("sessions"), ArchiveReason::Deleted).unwrap().unwrap();
    assert_eq!(place.text("sessions.json"), "{}");
}

#[test]
fn nothing_leads_out_of_the_folder() {
    let outside = Place::with("secret.jsonl", answered());
    let secret = outside.path("secret.jsonl");
    for linked in ["s.jsonl", "s.jsonl.journal", "s.jsonl.lock"] {
        for target in [&secret, &outside.path("nothing.jsonl")] {
            let place = Place::new();
            symlink(target, place.path(linked)).unwrap();
            let opened = place.store.open_blocking(&id("s"), &begin());
            // A journal is not touched before something is written to it.
            let refused = opened.and_then(|mut writer| writer.append(vec![said("user", "one")]));
            assert!(matches!(refused, Err(StoreError::Outside { .. })), "{linked} -> {}", target.display());
            let _ = place.store.archive_blocking(&id("s"), ArchiveReason::Deleted);
            let _ = place.store.compact_blocking(&id("s"), MaxLines::at_most(1));
            if linked == "s.jsonl" {
                assert!(place.store.load_blocking(&id("s")).is_err());
                assert!(place.store.fork_blocking(&id("s"), &Fork::Leaf).is_err());
                assert_eq!(place.store.list_blocking().unwrap(), []);
            }
        }
    }
    assert_eq!(outside.names(), ["secret.jsonl"]);
    assert_eq!(outside.text("secret.jsonl"), answered());
}

#[test]
fn a_link_that_is_swapped_in_later_is_not_written_through() {
    let outside = Place::with("secret.jsonl", answered());
    for linked in ["s.jsonl", "s.jsonl.journal", "s.jsonl.lock"] {
        let place = Place::new();
        let mut writer = place.open("s");
        if linked == "s.jsonl" {
            writer.append(vec![said("assistant", "zero")]).unwrap();
        } else {
            writer.append(vec![said("user", "zero")]).unwrap();
        }
        let _ = fs::remove_file(place.path(linked));
        symlink(outside.path("secret.jsonl"), place.path(linked)).unwrap();
        assert!(writer.append(vec![said("user", "one")]).is_err(), "{linked}");
        drop(writer);
        assert!(place.path(linked).is_symlink(), "{linked}");
    }
    assert_eq!(outside.text("secret.jsonl"), answered());
}

#[test]
fn a_link_within_the_folder_is_the_file_it_names() {
    let place = Place::with("real.jsonl", answered());
    symlink("real.jsonl", place.path("s.jsonl")).unwrap();
    let mut writer = place.open("s");
    assert!(matches!(place.store.open_blocking(&id("real"), &begin()), Err(StoreError::TranscriptLocked(_))));
    writer.append(vec![said("user", "more")]).unwrap();
    assert_eq!(place.told("real"), ["question", "answer", "more"]);
    assert_eq!(place.told("s"), ["question", "answer", "more"]);
}

#[tokio::test]
async fn an_append_that_nobody_waits_for_still_happens() {
    let place = Place::with("s.jsonl", answered());
    let mut writer = TranscriptStore::open(&place.store, &id("s"), begin()).await.unwrap();
    for text in ["one", "two", "three"] {
        // Given up at the first moment of waiting.
        tokio::select! {
            biased;
            _ = writer.append(vec![said("user", text)]) => {}
            () = std::future::ready(()) => {}
        }
    }
    writer.append(vec![said("user", "four")]).await.unwrap();
    assert_eq!(
        writer.transcript().context(),
        place.store.load_blocking(&id("s")).unwrap().unwrap().context()
    );
    let told = place.told("s");
    assert_eq!(told.last().map(String::as_str), Some("four"));
    assert!(told.len() > 3, "{told:?}");
}

#[test]
fn a_compaction_leaves_the_rest_of_the_file_alone() {
    let place = Place::with("s.jsonl", answered());
    let mut writer = place.open("s");
    let compaction = NewCompaction {
        summary: "they talked".into(),
        first_kept: "b".into(),
        tokens_before: 10.0,
        ..NewCompaction::default()
    };
    writer.append(vec![NewEntry::Compaction(compaction), said("user", "and now?")]).unwrap();
    assert_eq!(place.told("s"), ["they talked", "answer", "and now?"]);
    assert!(place.text("s.jsonl").starts_with(&answered()));
}

/// A long transcript stays in memory from one writer to the next, for as long as nobody else touches its file.
#[tokio::test]
async fn what_is_kept_of_a_transcript_follows_its_file() {
    let place = Place::with("s.jsonl", answered());
    let open = async || TranscriptStore::open(&place.store, &id("s"), begin()).await.unwrap();
    let long = "x".repeat(20_000);
    let mut writer = open().await;
    writer.append(vec![said("user", &long), said("assistant", "first")]).await.unwrap();
    let reading = writer.transcript().reading();
    let first = writer.transcript().leaf_id().unwrap().to_owned();
    drop(writer);

    // It goes on from the end, wherever the last one stopped.
    let mut writer = open().await;
    assert_eq!(writer.transcript().reading(), reading, "it was read again");
    writer.append(vec![said("user", "second")]).await.unwrap();
    let second = writer.transcript().leaf_id().unwrap().to_owned();
    writer.move_leaf(Some(&first)).await.unwrap();
    drop(writer);
    let writer = open().await;
    assert_eq!(writer.transcript().reading(), reading, "it was read again");
    assert_eq!(writer.transcript().leaf_id(), Some(second.as_str()));
    drop(writer);

    // Others add to it, write it anew, and leave a journal beside it.
    let path = place.path("s.jsonl");
    let line = format!(
        r#"{{"type":"message","id":"other","parentId":"{second}","message":{{"role":"user","content":"theirs"}}}}"#
    );
    fs::write(&path, place.text("s.jsonl") + &line + "\n").unwrap();
    let mut writer = open().await;
    assert_eq!(writer.transcript().leaf_id(), Some("other"));
    // Also while it is open.
    let late = line.replace(r#""other""#, r#""late""#);
    fs::write(&path, place.text("s.jsonl") + &late + "\n").unwrap();
    writer.append(vec![said("assistant", "ours")]).await.unwrap();
    drop(writer);
    let writer = open().await;
    assert!(writer.transcript().entry("late").is_some());
    drop(writer);
    let changed = place.text("s.jsonl").replace("theirs", "forgot");
    fs::write(place.path("new"), changed).unwrap();
    fs::rename(place.path("new"), &path).unwrap();
    let writer = open().await;
    assert!(writer.transcript().entry("other").unwrap().line().contains("forgot"));
}
