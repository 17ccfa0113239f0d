//! `yabby import`.

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::home::Home;

/// A home without a folder of ours, beside the folder of an OpenBot.
fn openbot() -> Home {
    let home = Home::empty();
    fs::remove_dir_all(home.path().join(".openclaw")).unwrap();
    home.write(
        ".openbot/agents/default/sessions/sessions.json",
        r#"{"agent:default:5054": {"sessionId": "s1", "updatedAt": 1769868002000,
            "deliveryContext": {"channel": "telegram", "target": "5054", "account": "default"}}}"#,
    );
    let header =
        r#"{"type":"session","version":2,"id":"s1","timestamp":"2026-01-31T14:00:00.000Z","cwd":"/x"}"#;
    let said = r#"{"type":"message","timestamp":"2026-01-31T14:00:01.000Z","message":{"role":"user","content":"Hello!"}}"#;
    home.write(".openbot/agents/default/sessions/s1.jsonl", &format!("{header}\n{said}\n"));
    home
}

fn config(home: &Home) -> Value {
    serde_json::from_str(&fs::read_to_string(home.path().join(".yabby/yabby.json")).unwrap()).unwrap()
}

#[test]
fn a_dry_run_only_tells() {
    let home = openbot();
    let told = home.out(&["import", "openbot", ".openbot", "--dry-run"]);
    let expected = "agent:main:telegram:dm:5054 ← agent:default:5054 (1 message, new)\n\
        session.dmScope = \"per-channel-peer\" ← a session for each person\n\
        Would adopt 1 session into ~/.yabby: 1 new, 0 grown.\n";
    assert_eq!(told, expected);
    let told = home.json(&["import", "openbot", ".openbot", "--dry-run"]);
    let session = json!({"from": "agent:default:5054", "key": "agent:main:telegram:dm:5054", "sessionId": "s1",
        "messages": 1, "outcome": "new"});
    assert_eq!((&told["dryRun"], &told["sessions"]), (&json!(true), &json!([session])));
    assert!(!home.path().join(".yabby").exists());
}

#[test]
fn an_import_brings_sessions_and_settings_once() {
    let home = openbot();
    let told = home.json(&["import", "openbot", ".openbot"]);
    assert_eq!(told["settings"][0]["alreadySet"], false);
    assert!(home.out(&["history", "telegram:dm:5054"]).contains("Hello!"));
    assert_eq!(config(&home)["session"], json!({"dmScope": "per-channel-peer"}));
    let before = fs::read(home.path().join(".yabby/yabby.json")).unwrap();
    let again = home.json(&["import", "openbot", ".openbot"]);
    assert_eq!(
        (&again["sessions"][0]["outcome"], &again["settings"][0]["alreadySet"]),
        (&json!("known"), &json!(true))
    );
    assert_eq!(fs::read(home.path().join(".yabby/yabby.json")).unwrap(), before, "settings are written once");
    home.out(&["config", "set", "session.dmScope", "main"]);
    home.out(&["import", "openbot", ".openbot"]);
    assert_eq!(config(&home)["session"]["dmScope"], "main", "what the person set stays");
}

#[test]
fn settings_and_sessions_of_openclaudecode_are_taken_over() {
    let home = openbot();
    home.write(
        ".occ/config.yaml",
        "gateway:\n  autoResponder:\n    sessionMaxAgeMs: 14400000\n    other: no\n",
    );
    let said = r#"{"type":"message","timestamp":"2026-01-31T14:00:01.000Z","message":{"role":"user","content":"Hi","channel":"telegram","from":"7"}}"#;
    home.write(".occ/sessions/a.jsonl", &format!("{said}\n"));
    let database = Connection::open(home.path().join(".occ/gateway.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE sessions (sessionId TEXT PRIMARY KEY, sessionKey TEXT, createdAt INTEGER,
                 updatedAt INTEGER, messageCount INTEGER, compactionCount INTEGER, transcriptPath TEXT);
             INSERT INTO sessions VALUES ('a', 'telegram:42', 1, 1769868009000, 2, 3, '/gone/a.jsonl');",
        )
        .unwrap();
    let told = home.json(&["import", "openclaudecode", ".occ"]);
    assert_eq!(told["sessions"][0]["key"], "agent:main:telegram:dm:42");
    let expected = json!({"reset": {"mode": "idle", "idleMinutes": 240}, "dmScope": "per-channel-peer"});
    assert_eq!(config(&home)["session"], expected);
    assert_eq!(told["left"].as_array().unwrap().len(), 1, "{told}");
}

#[test]
fn what_is_no_such_folder_is_refused() {
    let home = openbot();
    let table = [
        (
            &["openbot", "nope"][..],
            "Error: nope is no folder; name the folder that openbot keeps its data in",
        ),
        (&["openbot"], "error: missing required argument 'dir'"),
        (
            &["openbt", ".openbot"],
            "error: command-argument value 'openbt' is invalid for argument 'program'. Allowed choices are openbot, openclaudecode.",
        ),
    ];
    for (arguments, told) in table {
        assert_eq!(home.refusal(&[&["import"], arguments].concat()), told, "{arguments:?}");
    }
    assert!(
        home.refusal(&["import", "openclaudecode", ".openbot"]).contains("holds nothing of openclaudecode")
    );
    assert!(!home.path().join(".yabby").exists());
}
