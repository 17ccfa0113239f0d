//! `yabby setup`: what a folder begins with.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use crate::home::{Home, YABBY};

const ALL: [&str; 8] = [
    "AGENTS.md",
    "SOUL.md",
    "TOOLS.md",
    "IDENTITY.md",
    "USER.md",
    "HEARTBEAT.md",
    "MEMORY.md",
    "BOOTSTRAP.md",
];

/// Runs in a home without any folder.
fn fresh(home: &Path, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new(YABBY);
    command.env_clear().env("HOME", home).env("TZ", "UTC").current_dir(home).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_fresh_home_gets_a_configuration_and_a_workspace() {
    let home = TempDir::new().unwrap();
    let told = fresh(home.path(), &["setup"]);
    let expected = "Wrote ~/.yabby/yabby.json\nWorkspace OK: ~/.yabby/workspace\n  begun with AGENTS.md, SOUL.md, TOOLS.md, IDENTITY.md, USER.md, HEARTBEAT.md, MEMORY.md, BOOTSTRAP.md\nSessions OK: ~/.yabby/agents/main/sessions\n";
    assert!(told.starts_with(expected), "{told}");
    let next: Vec<&str> = told.split("\nNext:\n").nth(1).unwrap().lines().map(str::trim).collect();
    assert_eq!(next.len(), 3, "{told}");
    assert!(next[0].starts_with("yabby agent") && next[2].starts_with("yabby gateway"), "{told}");
    let state = home.path().join(".yabby");
    for name in ALL {
        let file = state.join("workspace").join(name);
        assert_eq!(mode(&file), 0o600, "{name}");
        assert!(file.metadata().unwrap().len() > 20, "{name}");
    }
    for folder in ["", "workspace", "agents/main/sessions"] {
        assert_eq!(mode(&state.join(folder)), 0o700, "{folder}");
    }
    assert_eq!(mode(&state.join("yabby.json")), 0o600);
    // Once more there is nothing to do, and nothing is touched.
    fs::write(state.join("workspace/SOUL.md"), "mine").unwrap();
    fs::remove_file(state.join("workspace/BOOTSTRAP.md")).unwrap();
    let again = fresh(home.path(), &["setup"]);
    let expected = "Config OK: ~/.yabby/yabby.json\nWorkspace OK: ~/.yabby/workspace\nSessions OK: ~/.yabby/agents/main/sessions\n";
    assert!(again.starts_with(expected), "{again}");
    assert_eq!(fs::read_to_string(state.join("workspace/SOUL.md")).unwrap(), "mine");
    assert!(!state.join("workspace/BOOTSTRAP.md").exists(), "they know each other already");
}

#[test]
fn what_is_there_stays_and_what_is_missing_comes() {
    let home = Home::empty();
    home.write(".openclaw/workspace/AGENTS.md", "my rules");
    symlink("/nowhere", home.path().join(".openclaw/workspace/SOUL.md")).unwrap();
    let told = home.json(&["setup"]);
    assert_eq!(told["created"], json!(["TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md"]));
    let workspace = home.path().join(".openclaw/workspace");
    assert_eq!(fs::read_to_string(workspace.join("AGENTS.md")).unwrap(), "my rules");
    assert!(fs::symlink_metadata(workspace.join("SOUL.md")).unwrap().is_symlink());
}

#[test]
fn a_configuration_keeps_its_comments() {
    let home = Home::empty();
    home.write(
        ".openclaw/openclaw.json",
        "{\n  // mine\n  \"agents\": {\n    \"defaults\": { \"model\": { \"primary\": \"acme/small\" } } // and this\n  }\n}\n",
    );
    let told = home.json(&["setup", "--workspace", "~/desk"]);
    let path = |path: &str| home.path().join(path).to_string_lossy().into_owned();
    assert_eq!(told["config"], path(".openclaw/openclaw.json"));
    assert_eq!((&told["configWritten"], &told["workspace"]), (&json!(true), &json!(path("desk"))));
    assert_eq!(told["created"], json!(ALL));
    assert_eq!(told["sessions"], path(".openclaw/agents/main/sessions"));
    let text = fs::read_to_string(path(".openclaw/openclaw.json")).unwrap();
    assert!(text.contains("// mine") && text.contains("// and this"), "{text}");
    assert_eq!(home.out(&["config", "get", "agents.defaults.workspace"]).trim(), path("desk"));
    assert_eq!(home.json(&["setup", "--workspace", "desk"])["configWritten"], false);
    // The agent works there.
    assert_eq!(home.json(&["skills", "list"])["workspaceDir"], path("desk"));
}

#[test]
fn an_agent_with_a_folder_of_its_own_is_set_up_there() {
    let home = Home::empty();
    let config = json!({
        "gateway": {"mode": "local", "auth": {"token": "a-token-that-is-there-already"}},
        "agents": {"list": [{"id": "a"}, {"id": "b", "default": true, "workspace": "~/b"}]},
    });
    home.write(".openclaw/openclaw.json", &config.to_string());
    let told = home.json(&["setup"]);
    assert_eq!(
        (&told["configWritten"], told["workspace"].as_str().unwrap().ends_with("/b")),
        (&json!(false), true)
    );
    assert!(home.path().join("b/AGENTS.md").exists());
    home.out(&["setup", "--workspace", "~/c"]);
    assert!(home.out(&["config", "get", "agents.list[1].workspace"]).trim().ends_with("/c"));
    assert!(home.json(&["skills", "list"])["workspaceDir"].as_str().unwrap().ends_with("/c"));
    assert!(home.path().join(".openclaw/agents/b/sessions").is_dir());
}

#[test]
fn whoever_brings_texts_of_their_own_gets_none() {
    let home = Home::empty();
    home.write(
        ".openclaw/openclaw.json",
        &json!({"agents": {"defaults": {"skipBootstrap": true}}}).to_string(),
    );
    assert_eq!(home.json(&["setup"])["created"], json!([]));
    let workspace = home.path().join(".openclaw/workspace");
    assert_eq!(fs::read_dir(workspace).unwrap().count(), 0);
}

#[test]
fn a_workspace_that_cannot_be_made_is_told() {
    let home = Home::empty();
    home.write("file", "x");
    let told = home.refusal(&["setup", "--workspace", "file/desk"]);
    assert!(told.contains("cannot create") && told.contains("file/desk"), "{told}");
}
