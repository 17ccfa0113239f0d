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

#[test]
fn a_message_cannot_steer_the_terminal() {
    let line =
        r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"a\u001b[2Jb"}}"#;
    let path = std::env::temp_dir().join(format!("yabby-history-{}.jsonl", std::process::id()));
    std::fs::write(&path, format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{line}\n")).unwrap();
    let output = yabby(&["history", path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    assert!(text(&output.stdout).contains("a\u{fffd}[2Jb"));
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
