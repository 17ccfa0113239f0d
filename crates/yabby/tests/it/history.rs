//! `yabby history`.

use std::process::{Command, Output};

fn yabby(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_yabby")).args(arguments).output().expect("yabby starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

#[test]
fn the_sample_conversation_reads_like_one() {
    let output = yabby(&["history"]);
    assert!(output.status.success());
    let shown = text(&output.stdout);
    for part in [
        "you 2026-02-03 12:00 UTC",
        "What is on today",
        "[read {\"path\":\"calendar/2026-02-03.md\"}]",
        "13:30",
    ] {
        assert!(shown.contains(part), "{part:?} is missing in:\n{shown}");
    }
    assert!(!shown.contains('\u{1b}'), "a pipe gets plain text");
}

#[test]
fn json_gives_the_messages_the_model_would_see() {
    let output = yabby(&["history", "--json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("valid JSON");
    let roles: Vec<&str> =
        value["messages"].as_array().unwrap().iter().filter_map(|m| m["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "toolResult", "assistant", "user", "assistant"]);
}

/// Runs `history` on a file with a header and these lines.
fn history_of(name: &str, lines: &[&str], arguments: &[&str]) -> Output {
    let path = std::env::temp_dir().join(format!("yabby-{name}-{}.jsonl", std::process::id()));
    let header = r#"{"type":"session","version":3,"id":"s"}"#;
    std::fs::write(&path, format!("{header}\n{}\n", lines.join("\n"))).unwrap();
    let output = yabby(&[&["history", path.to_str().unwrap()], arguments].concat());
    std::fs::remove_file(&path).unwrap();
    output
}

#[test]
fn a_message_cannot_steer_the_terminal() {
    let line =
        r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"a\u001b[2Jb"}}"#;
    let shown = text(&history_of("steer", &[line], &[]).stdout);
    assert!(shown.contains("a\u{fffd}[2Jb"), "{shown}");
    assert!(shown.contains("1 message\n"), "{shown}");
}

const COMPACTED: [&str; 5] = [
    r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"long ago"}}"#,
    r#"{"type":"compaction","id":"2","parentId":"1","summary":"They met.","firstKeptEntryId":"2","tokensBefore":9}"#,
    "{ a torn line",
    r#"{"type":"message","id":"3","parentId":"2","message":{"role":"bashExecution","command":"ls","output":"","excludeFromContext":true}}"#,
    r#"{"type":"message","id":"4","parentId":"3","message":{"role":"user","content":"now"}}"#,
];

#[test]
fn what_is_not_shown_is_said() {
    let output = history_of("compacted", &COMPACTED, &[]);
    assert!(text(&output.stdout).contains("1 earlier message summarised below"));
    assert_eq!(text(&output.stderr), "note: 1 line cannot be read and is skipped\n");
}

#[test]
fn json_has_only_what_a_model_is_told() {
    let output = history_of("told", &COMPACTED, &["--json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("valid JSON");
    let messages = value["messages"].as_array().unwrap();
    assert!(messages.iter().all(|message| message["role"] == "user"), "{messages:?}");
    assert_eq!(messages.len(), 2);
}

#[test]
fn a_question_that_waits_for_its_answer_is_shown() {
    let file = std::env::temp_dir().join(format!("yabby-waiting-{}.jsonl", std::process::id()));
    let journal = file.with_extension("jsonl.journal");
    let header =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-15T09:30:00.000Z","cwd":"/w"}"#;
    let question =
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"Anybody there?"}}"#;
    std::fs::write(&journal, format!("{header}\n{question}\n")).unwrap();
    let shown = yabby(&["history", file.to_str().unwrap()]);
    std::fs::remove_file(&journal).unwrap();
    assert!(text(&shown.stdout).contains("Anybody there?"), "{}", text(&shown.stderr));
}

#[test]
fn a_file_that_is_missing_or_no_transcript_is_named() {
    let missing = yabby(&["history", "no-such-file.jsonl"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("no-such-file.jsonl cannot be read"));
    let wrong = yabby(&["history", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(text(&wrong.stderr).contains("is no transcript"));
}

#[test]
fn the_readme_shows_what_is_shown() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let (_, rest) = readme.split_once("```text\n").expect("README.md has a sample");
    let (sample, _) = rest.split_once("```").expect("the sample ends");
    let shown = text(&yabby(&["history"]).stdout);
    assert!(shown.contains(sample), "README.md shows:\n{sample}\nyabby shows:\n{shown}");
}
