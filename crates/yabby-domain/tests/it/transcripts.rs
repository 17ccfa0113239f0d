//! No text makes a transcript panic, run away, or lose what was appended.

use std::borrow::Cow;

use jiff::Timestamp;
use proptest::prelude::*;
use yabby_domain::message::Message;
use yabby_domain::transcript::context::for_model;
use yabby_domain::transcript::file::{OnOpen, TranscriptFile, starts_a_session};
use yabby_domain::transcript::line_compact::{MaxLines, compact};
use yabby_domain::transcript::preview::{self, PreviewLimits};
use yabby_domain::transcript::tree::NewEntry;
use yabby_domain::transcript::{Stamp, Transcript, envelope, file_repair, fork, listing, time};

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-15T09:30:00.000Z","cwd":"/w"}"#;

fn stamped<T>(act: impl FnOnce(&mut Stamp<'_>) -> T) -> T {
    let mut count = 0;
    let mut fresh_id = || {
        count += 1;
        format!("{:08x}-0000-4000-8000-000000000000", 0xf000_0000_u32 + count)
    };
    act(&mut Stamp { now: Timestamp::UNIX_EPOCH, fresh_id: &mut fresh_id })
}

/// Everything that reads a file.
fn read_all(text: &str) {
    let bytes = text.as_bytes();
    let _ = file_repair::repair(Some(text));
    let _ = listing::listing(text);
    let _ = preview::messages(text).into_iter().map(envelope::without_envelope).count();
    let _ = preview::first_user_message(bytes);
    let _ = preview::last_message(bytes);
    let _ =
        preview::preview_items(|count| Cow::Borrowed(preview::tail(bytes, count)), PreviewLimits::default());
    let _ = starts_a_session(bytes);
    let _ = compact(text, MaxLines::from_value(Some(&3.into())).expect("positive"));
    if let Some(transcript) = Transcript::read(text) {
        let _ = for_model(transcript.context().messages);
        let _ = (transcript.name(), transcript.labels().len());
        let tree = transcript.tree();
        for root in tree.roots() {
            // No way down is longer than there are entries: nobody is their own ancestor.
            let way = std::iter::successors(Some(root), |node| node.children().last());
            assert!(way.take(transcript.entries().len() + 1).count() <= transcript.entries().len());
        }
        for entry in transcript.entries() {
            if let Some(id) = entry.id() {
                let _ = transcript.branch_to(id);
            }
        }
    }
}

fn said(role: &str) -> NewEntry {
    let mut message = Message::default();
    message.set("role", role);
    NewEntry::Message(message)
}

/// Opens the text, appends a question and an answer, and opens it again: both are there.
fn append_survives(text: &str) {
    stamped(|stamp| {
        let (mut file, action) = TranscriptFile::open(Some(text), "/cwd", stamp);
        let mut disk = match action {
            OnOpen::Nothing => text.to_owned(),
            OnOpen::Replace { text, .. } | OnOpen::SetAside { text } => text,
        };
        let before = file.transcript().context().messages.len();
        let entries = file.transcript().entries().len();
        let mut ids = Vec::new();
        for role in ["user", "assistant"] {
            let appended = file.append(said(role), stamp).expect("a message");
            disk.push_str(&appended.write.unwrap_or_default());
            ids.push(appended.id);
        }
        let _ = fork::thread(&file, "/sessions/x.jsonl", stamp);
        let (again, action) = TranscriptFile::open(Some(&disk), "/cwd", stamp);
        assert_eq!(action, OnOpen::Nothing);
        assert_eq!(again.transcript().leaf_id(), ids.last().map(String::as_str));
        assert_eq!(again.transcript().entries().len(), entries + 2);
        assert_eq!(again.transcript().context().messages.len(), before + 2);
    });
}

/// Entries that name each other at random: circles, doubles, strangers.
fn tangled() -> impl Strategy<Value = String> {
    let kind = prop_oneof![
        Just(r#""type":"message","message":{"role":"user","content":"x"}"#),
        Just(r#""type":"message","message":{"role":"assistant","content":[{"type":"text","text":"x"}]}"#),
        Just(r#""type":"message","message":null"#),
        Just(r#""type":"compaction","summary":"S","firstKeptEntryId":"b","tokensBefore":1"#),
        Just(r#""type":"compaction","summary":"S","removedCount":2"#),
        Just(r#""type":"label","targetId":"a","label":"L""#),
        Just(r#""type":"branch_summary","summary":"S","fromId":"a""#),
        Just(r#""type":"custom_message","content":"x""#),
        Just(r#""type":"model_change","model":"p/m""#),
        Just(r#""type":"future","message":[]"#),
    ];
    let name = prop_oneof![
        Just("\"a\""),
        Just("\"b\""),
        Just("\"c\""),
        Just("\"d\""),
        Just("1"),
        Just("null"),
        Just("\"\"")
    ];
    let place = prop_oneof![
        (name.clone(), name).prop_map(|(id, parent)| format!(r#","id":{id},"parentId":{parent}"#)),
        Just(String::new()),
        Just(r#","id":"only""#.to_owned()),
    ];
    let time =
        prop_oneof![Just(""), Just(r#","timestamp":"?""#), Just(r#","timestamp":"2026-01-15T09:30:00Z""#)];
    let line = (kind, place, time).prop_map(|(kind, place, time)| format!("{{{kind}{place}{time}}}"));
    let version =
        prop_oneof![Just(""), Just(r#""version":1,"#), Just(r#""version":2,"#), Just(r#""version":3,"#)];
    (version, prop::collection::vec(line, 0..24)).prop_map(|(version, lines)| {
        format!("{{\"type\":\"session\",{version}\"id\":\"s\"}}\n{}", lines.join("\n"))
    })
}

/// JSON as nobody would write it.
fn wild_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("-0".to_owned()),
        Just("1e400".to_owned()),
        Just(r#""\ud83d""#.to_owned()),
        Just(r#""\u0000""#.to_owned()),
        Just("\"😀\"".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let key = prop_oneof![
            Just("type"),
            Just("id"),
            Just("parentId"),
            Just("message"),
            Just("role"),
            Just("content"),
            Just("timestamp"),
            Just("text"),
            Just("name"),
            Just("version"),
            Just("label"),
            Just("usage"),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((key, inner), 0..5).prop_map(|members| {
                let members: Vec<_> =
                    members.into_iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(text in "\\PC*(\n|\r\n|\\PC)*") {
        read_all(&text);
        read_all(&format!("{HEADER}\n{text}"));
        let _ = time::parse(&text);
        append_survives(&format!("{HEADER}\n{text}"));
    }

    #[test]
    fn any_tangle_is_read_and_grows(text in tangled()) {
        read_all(&text);
        append_survives(&text);
    }

    #[test]
    fn a_file_cut_anywhere_is_read_and_grows(text in tangled(), cut in 0.0..1.0_f64) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in the text")]
        let cut = (text.len() as f64 * cut) as usize;
        read_all(&text[..cut]);
        append_survives(&text[..cut]);
    }

    #[test]
    fn any_json_is_read_and_grows(lines in prop::collection::vec(wild_json(), 0..8)) {
        let text = lines.join("\n");
        read_all(&text);
        let text = format!("{HEADER}\n{text}");
        read_all(&text);
        append_survives(&text);
    }

    #[test]
    fn lines_that_were_not_ours_stay_as_they_were(lines in prop::collection::vec(wild_json(), 0..8)) {
        let text = format!("{HEADER}\n{}", lines.join("\n"));
        let transcript = Transcript::read(&text).expect("a header");
        for entry in transcript.entries() {
            prop_assert!(lines.iter().any(|line| line == entry.line()));
        }
    }
}

/// A long chain, with a compaction near its end or without.
fn long_file(entries: usize, compaction: bool) -> String {
    let mut text = format!("{HEADER}\n");
    let mut parent = "null".to_owned();
    for at in 0..entries {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        let line = if compaction && at + 10 == entries {
            format!(
                r#"{{"type":"compaction","id":"e{at}","parentId":{parent},"timestamp":"2026-01-15T09:30:00.000Z","summary":"S","firstKeptEntryId":"e{}","tokensBefore":1}}"#,
                at - 10
            )
        } else {
            format!(
                r#"{{"type":"message","id":"e{at}","parentId":{parent},"timestamp":"2026-01-15T09:30:00.000Z","message":{{"role":"{role}","content":[{{"type":"text","text":"number {at}"}}],"timestamp":1768469400000}}}}"#
            )
        };
        text.push_str(&line);
        text.push('\n');
        parent = format!("\"e{at}\"");
    }
    text
}

#[test]
fn fifty_thousand_entries_are_read_and_told() {
    for (compaction, told) in [(true, 20), (false, 50_000)] {
        let text = long_file(50_000, compaction);
        let transcript = Transcript::read(&text).expect("a header");
        assert_eq!(transcript.context().messages.len(), told);
        assert_eq!(transcript.tree().roots().count(), 1);
    }
}

#[test]
fn entries_that_all_share_one_id_do_not_run_away() {
    let double = r#"{"type":"message","id":"a","parentId":"b","message":{"role":"user"}}"#;
    let other = r#"{"type":"message","id":"b","parentId":"a","message":{"role":"user"}}"#;
    let root = r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}"#;
    let lines: Vec<&str> =
        std::iter::once(root).chain([double, other].into_iter().cycle().take(100_000)).collect();
    let transcript = Transcript::read(&format!("{HEADER}\n{}", lines.join("\n"))).expect("a header");
    assert_eq!(transcript.branch().len(), 2);
    assert_eq!(transcript.tree().roots().count(), 1);
}
