//! The examples in `docs/formats` are what they say they are.

use std::fs;

use yabby_domain::ledger::{CallRecord, Purpose, Totals};
use yabby_domain::message::{Message, Role};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::store_journal::{Journal, Line};
use yabby_domain::session::store_text::{parse_store, store_text};
use yabby_domain::transcript::Stamp;
use yabby_domain::transcript::file::{TranscriptFile, Write};
use yabby_domain::transcript::header::NewSession;
use yabby_domain::transcript::journal::{Pending, pending, whole_lines};
use yabby_domain::transcript::tree::{NewEntry, Transcript};
use yabby_domain::turn::stage::Stage;
use yabby_domain::turn::{Outcome, Record, progress};

use crate::project;

/// The first code block of a language on a page.
fn example(page: &str, language: &str) -> String {
    let text = fs::read_to_string(project("docs/formats").join(page)).unwrap();
    let (_, rest) = text.split_once(&format!("```{language}\n")).expect("the page has an example");
    rest.split_once("\n```").expect("the example ends").0.to_owned()
}

#[test]
fn the_store_in_the_docs_is_written_as_it_stands() {
    let text = example("session-store.md", "json");
    let store = parse_store(&text).expect("a store");
    assert_eq!(store_text(&store), text);
    let record = SessionEntry::new(store["agent:main:main"].as_object().unwrap().clone());
    let place = record.delivery().and_then(|delivery| delivery.key());
    assert_eq!(place.as_deref(), Some("telegram|telegram:4711|default|"));
}

#[test]
fn the_transcript_in_the_docs_gives_the_messages_it_promises() {
    let transcript = Transcript::read(&example("transcript.md", "jsonl")).expect("a transcript");
    let roles: Vec<Role> = transcript.context().messages.iter().map(|message| message.role()).collect();
    assert_eq!(roles, [Role::CompactionSummary, Role::Assistant, Role::User]);
}

#[test]
fn the_journal_in_the_docs_is_written_as_it_stands() {
    let text = example("session-journal.md", "jsonl") + "\n";
    let lines: String =
        text.lines().map(|line| Line::parse(line).unwrap_or_else(|| panic!("{line}")).text()).collect();
    assert_eq!(lines, text);
    let journal = Journal::read(text.as_bytes(), |_| false);
    assert_eq!((journal.changes.len(), journal.damaged.len(), journal.waiting_drafts.len()), (3, 0, 1));
    assert_eq!(Journal::read(text.as_bytes(), |_| true).changes.len(), 0);
}

#[test]
fn the_transcript_journal_in_the_docs_becomes_the_file_it_promises() {
    let journal = example("transcript-journal.md", "jsonl") + "\n";
    assert_eq!(whole_lines(journal.as_bytes()), journal.as_bytes());
    assert_eq!(pending(None, &journal), Pending::Lines(journal.clone()));
    let mut fresh_id = || "a1f30c03-".to_owned();
    let mut stamp = Stamp { now: jiff::Timestamp::UNIX_EPOCH, fresh_id: &mut fresh_id };
    let session = NewSession { id: "other", cwd: "/", parent: None };
    let (file, _) = TranscriptFile::resume(None, &journal, session, &mut stamp);
    let mut answer = Message::default();
    answer.set("role", "assistant");
    let planned = file.plan(vec![NewEntry::Message(answer)], &mut stamp).expect("a message");
    let Write::File(text) = planned.write else { panic!("an answer goes to the file") };
    assert!(text.starts_with(&journal));
    assert_eq!(Transcript::read(&text).expect("a transcript").context().messages.len(), 2);
}

#[test]
fn the_journal_of_turns_in_the_docs_is_written_as_it_stands() {
    let text = example("turn-journal.md", "jsonl");
    let records: Vec<Record> = text.lines().map(|line| Record::parse(line).expect(line)).collect();
    let lines: Vec<String> = records.iter().map(Record::line).collect();
    assert_eq!(lines.join("\n"), text);
    let stages: Vec<Stage> = progress(records).iter().map(|(turn, told)| Stage::of(turn, told)).collect();
    assert_eq!(stages, [Stage::Settled(Outcome::Answered), Stage::Sending { sent: 0, in_doubt: 1, all: 1 }]);
}

#[test]
fn the_ledger_in_the_docs_is_written_as_it_stands() {
    let text = example("usage-ledger.md", "jsonl");
    let calls: Vec<CallRecord> = text.lines().map(|line| CallRecord::parse(line).expect(line)).collect();
    let lines: Vec<String> = calls.iter().map(CallRecord::line).collect();
    assert_eq!(lines.join("\n"), text);
    let purposes: Vec<Purpose> = calls.iter().map(|call| call.purpose).collect();
    assert_eq!(purposes, [Purpose::Turn, Purpose::Summary, Purpose::Flush]);
    let totals = Totals::of(&calls);
    assert_eq!((totals.calls, totals.unpriced, totals.tokens()), (3, 1, 12_969));
}
