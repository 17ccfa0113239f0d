//! `yabby history`.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::home::{Home, MAIN, YABBY, message, project};

/// A conversation with work, a summary, a branch that was left and a change of mind.
fn eventful() -> Vec<Value> {
    let mut again = message("b1", "assistant", "Another answer.");
    again["parentId"] = "a1".into();
    let mut called = message("a2", "assistant", "");
    called["parentId"] = "a1".into();
    called["message"]["content"] = json!([
        {"type": "thinking", "thinking": "A calendar."},
        {"type": "text", "text": "Let me look."},
        {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "today.md"}},
    ]);
    let mut answered = message("a3", "toolResult", "- 13:30 dentist\n- 18:00 dinner");
    answered["message"]["toolCallId"] = "c".into();
    vec![
        json!({"type": "model_change", "id": "a0", "provider": "p", "modelId": "m"}),
        message("a1", "user", "What is on?"),
        again,
        called,
        answered,
        json!({"type": "compaction", "id": "a4", "summary": "They met.", "firstKeptEntryId": "a2", "tokensBefore": 900}),
        message("a5", "user", "Thanks"),
        json!({"type": "label", "id": "a6", "targetId": "a5", "label": "polite"}),
    ]
}

#[test]
fn the_sample_conversation_reads_like_one() {
    let sample = project("fixtures/home-sample");
    let sample = ["--state-dir", sample.to_str().unwrap()];
    let home = Home::empty();
    let shown = home.out(&[&sample[..], &["history"]].concat());
    for part in ["you 2026-02-03 12:00 UTC", "What is on today", "▸ read calendar/2026-02-03.md → ", "13:30"]
    {
        assert!(shown.contains(part), "{part:?} is missing in:\n{shown}");
    }
    let read = home.json(&[&sample[..], &["history", "main"]].concat());
    let roles: Vec<&str> =
        read["messages"].as_array().unwrap().iter().filter_map(|m| m["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "toolResult", "assistant", "user", "assistant"]);
}

#[test]
fn work_is_folded_and_summaries_and_branches_are_marked() {
    let home = Home::saying(&eventful());
    let expected = format!(
        "agent:main:main 4 messages\n{MAIN}\n\n\
         · model: p/m\n\n\
         you 2026-02-03 12:00 UTC\n  What is on?\n\n\
         ├╴ another branch leaves here (see --tree)\n\n\
         assistant 2026-02-03 12:00 UTC\n  (thinking)\n  Let me look.\n  ▸ read today.md → - 13:30 dentist (+1 line)\n\n\
         ── compacted: what came before was summarised, 900 tokens ──\n  They met.\n\n\
         you 2026-02-03 12:00 UTC\n  Thanks\n"
    );
    assert_eq!(home.out(&["history"]), expected);
    let full = home.out(&["history", "--full"]);
    let unfolded = "  A calendar.\n  Let me look.\n  ▾ read {\"path\":\"today.md\"}\n    - 13:30 dentist\n    - 18:00 dinner\n";
    assert!(full.contains(unfolded), "{full}");
}

#[test]
fn the_tree_keeps_the_conversation_in_the_first_column() {
    let home = Home::saying(&eventful());
    let expected = format!(
        "agent:main:main 4 messages\n{MAIN}\n\n\
         ● setting model: p/m a0\n\
         ● you What is on? a1\n\
         ├─○ assistant Another answer. b1\n\
         ● assistant Let me look. a2\n\
         ● tool - 13:30 dentist - 18:00 dinner a3\n\
         ● compaction They met. a4\n\
         ● you Thanks [polite] a5\n\
         ● label polite a6 ← here\n"
    );
    assert_eq!(home.out(&["history", "--tree"]), expected);
    let tree = home.json(&["history", "--tree"]);
    assert_eq!(tree["leafId"], "a6");
    let active = |id: &str| {
        tree["entries"].as_array().unwrap().iter().find(|e| e["id"] == id).unwrap()["active"].clone()
    };
    assert_eq!((active("a2"), active("b1")), (json!(true), json!(false)));
}

#[test]
fn nested_branches_are_drawn_beside_each_other() {
    let entry = |id: &str, parent: &str| {
        let mut entry = message(id, "user", id);
        entry["parentId"] = parent.into();
        entry
    };
    let mut first = message("a", "user", "a");
    first["parentId"] = Value::Null;
    let home = Home::saying(&[
        first,
        entry("b", "a"),
        entry("c", "b"),
        entry("d", "b"),
        entry("e", "a"),
        entry("f", "a"),
    ]);
    let told = home.out(&["history", "--tree"]);
    let drawn = told.split_once("\n\n").unwrap().1;
    assert_eq!(drawn, "● you a a\n├─○ you b b\n│ ├─○ you c c\n│ ○ you d d\n├─○ you e e\n● you f f ← here\n");
}

#[test]
fn a_window_shows_how_much_it_leaves_out() {
    let home = Home::saying(&[
        message("1", "user", "one"),
        message("2", "user", "two"),
        message("3", "user", "three"),
    ]);
    let shown = |arguments: &[&str]| {
        let told = home.out(&[&["history", "main"], arguments].concat());
        let parts = told.lines().skip(2).filter(|line| line.starts_with(['…', ' '])).map(str::trim);
        parts.collect::<Vec<_>>().join("|")
    };
    let table = [
        (&[][..], "one|two|three"),
        (&["--limit", "1"], "… 2 earlier messages|three"),
        (&["--limit", "1", "--offset", "1"], "… 1 earlier message|two|… 1 later message"),
        (&["--offset", "2"], "one|… 2 later messages"),
        (&["--offset", "9"], "… 3 later messages"),
        (&["--limit", "0", "--offset", "1"], "… 2 earlier messages|… 1 later message"),
        (&["--limit", "0"], "… 3 earlier messages"),
        (&["--limit", "99999999999999999999999"], "one|two|three"),
    ];
    for (arguments, expected) in table {
        assert_eq!(shown(arguments), expected, "{arguments:?}");
    }
    let window = home.json(&["history", "--limit", "1", "--offset", "1"]);
    assert_eq!((&window["total"], &window["messages"][0]["entryId"]), (&json!(3), &json!("2")));
    assert_eq!(window["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn context_is_what_the_model_is_told() {
    let mut unsaid = message("a7", "bashExecution", "");
    unsaid["message"] =
        json!({"role": "bashExecution", "command": "ls", "output": "", "excludeFromContext": true});
    let home = Home::saying(&[eventful(), vec![unsaid]].concat());
    let told = home.json(&["history", "--context"]);
    let roles: Vec<&str> =
        told["messages"].as_array().unwrap().iter().filter_map(|m| m["role"].as_str()).collect();
    assert_eq!(
        roles,
        ["user", "assistant", "toolResult", "user"],
        "the summary stands for what it summarises"
    );
    let text = home.out(&["history", "--context"]);
    assert!(text.contains("They met.") && !text.contains("What is on?"), "{text}");
}

#[test]
fn a_session_is_found_by_all_that_names_it() {
    let home = Home::saying(&[message("1", "user", "here")]);
    home.out(&["sessions", "label", "main", "Holiday"]);
    let file = home.transcript(MAIN);
    for name in ["main", "agent:main:main", MAIN, "1111", "holiday", " Holiday ", file.to_str().unwrap()] {
        assert!(home.out(&["history", name]).contains("here"), "{name}");
    }
    for name in ["", "111", "holi", "agent:ops:main", "agent:main:main:thread:1"] {
        assert!(home.refusal(&["history", name]).starts_with("No session found:"), "{name:?}");
    }
    assert!(home.out(&["history"]).starts_with("Holiday (agent:main:main) 1 message\n"));
}

#[test]
fn lines_that_cannot_be_read_are_counted_not_hidden() {
    let home = Home::saying(&[message("1", "user", "before")]);
    let torn = fs::read_to_string(home.transcript(MAIN)).unwrap() + "{\"type\":\"mess\n\u{0}\u{0}\n";
    fs::write(home.transcript(MAIN), torn + &message("2", "user", "after").to_string() + "\n").unwrap();
    let told = home.run(&["history", "--json"]);
    assert_eq!(told.err, "note: 2 lines cannot be read and are skipped\n");
    let read: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(read["messages"].as_array().unwrap().last().unwrap()["content"], "after");
}

#[test]
fn a_message_cannot_steer_the_terminal() {
    let home = Home::saying(&[message("\u{1b}1", "user", "a\u{1b}[2Jb\u{202e}c")]);
    for flag in ["--full", "--tree", "--context"] {
        let shown = home.out(&["history", flag]);
        assert!(shown.contains("a\u{fffd}[2Jb\u{fffd}c"), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
    }
}

#[test]
fn a_question_that_waits_for_its_answer_is_shown() {
    let home = Home::saying(&[message("1", "user", "Anybody there?")]);
    let file = home.transcript(MAIN);
    fs::rename(&file, file.with_extension("jsonl.journal")).unwrap();
    assert!(home.out(&["history"]).contains("Anybody there?"));
    assert!(home.out(&["history", file.to_str().unwrap()]).contains("Anybody there?"));
}

#[test]
fn what_is_no_conversation_is_named() {
    let home = Home::with(&json!({"agent:main:main": {"sessionId": MAIN, "updatedAt": 1}}));
    let told = home.refusal(&["history"]);
    let expected = "Error: nothing has been said yet in agent:main:main: there is no ";
    assert!(told.starts_with(expected) && told.ends_with(&format!("{MAIN}.jsonl")), "{told}");
    assert!(home.refusal(&["history", "no-such-file.jsonl"]).contains("no-such-file.jsonl cannot be read"));
    home.write("notes.txt", "milk\n");
    assert!(home.refusal(&["history", "./notes.txt"]).contains("is no transcript"));
    home.write("empty.jsonl", "");
    assert!(home.refusal(&["history", "empty.jsonl"]).contains("is no transcript"));
}

#[test]
fn whoever_stops_reading_is_not_scolded() {
    let entries: Vec<Value> =
        (0..5_000).map(|at| message(&at.to_string(), "user", &"long ".repeat(40))).collect();
    let home = Home::saying(&entries);
    for arguments in
        [&["history"][..], &["history", "--json"], &["history", "--tree"], &["sessions", "export", "main"]]
    {
        let mut yabby = Command::new(YABBY);
        yabby.env_clear().env("HOME", home.path()).args(arguments);
        let mut child = yabby.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // As `head -0` does.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{arguments:?}");
    }
}

#[test]
fn a_disk_that_is_full_is_told() {
    let home = Home::saying(&[message("1", "user", "hello")]);
    for arguments in [&["history"][..], &["sessions", "--json"], &["agents"], &["sessions", "export", "main"]]
    {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = home.command(arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(
            String::from_utf8(output.stderr).unwrap().starts_with("Error: No space left"),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_tool_is_one_line_and_says_that_it_failed() {
    let call = json!({"role": "assistant", "content": [
        {"type": "toolCall", "id": "c", "name": "exec", "arguments": {"command": "cd x\nls"}},
    ]});
    let result = json!({"role": "toolResult", "toolCallId": "c", "toolName": "exec", "isError": true,
        "content": [{"type": "text", "text": "no such folder\nx"}]});
    let said = |id: &str, message: Value| json!({"type": "message", "id": id, "message": message});
    let home = Home::saying(&[said("1", call), said("2", result)]);
    let told = home.out(&["history", "main"]);
    assert!(told.ends_with("  ▸ exec cd x ls → failed: no such folder (+1 line)\n"), "{told}");
}
