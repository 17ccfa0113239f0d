//! Sessions whose records speak of one transcript.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

#[test]
fn a_session_that_is_deleted_leaves_the_others_their_conversation() {
    let home = TempDir::new().unwrap();
    let sessions = home.path().join(".openclaw/agents/main/sessions");
    fs::create_dir_all(&sessions).unwrap();
    let header =
        r#"{"type":"session","version":3,"id":"one","timestamp":"2026-01-15T09:30:00.000Z","cwd":"/w"}"#;
    fs::write(sessions.join("shared.jsonl"), format!("{header}\n")).unwrap();
    let record = |id: &str| {
        let file = sessions.join("shared.jsonl");
        serde_json::json!({"sessionId": id, "updatedAt": 1, "sessionFile": file})
    };
    let store = serde_json::json!({"agent:main:a": record("one"), "agent:main:b": record("two")});
    fs::write(sessions.join("sessions.json"), store.to_string()).unwrap();
    let mut yabby = Command::new(env!("CARGO_BIN_EXE_yabby"));
    yabby.env_clear().env("HOME", home.path()).args(["sessions", "delete", "agent:main:a", "--yes"]);
    assert!(yabby.output().unwrap().status.success());
    assert!(sessions.join("shared.jsonl").exists());
}
