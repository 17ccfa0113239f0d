//! `yabby doctor`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use yabby_testkit::torture::{self, Damage};

use crate::home::Home;

fn doctor(state: &Path, arguments: &[&str]) -> Output {
    let mut yabby = Command::new(env!("CARGO_BIN_EXE_yabby"));
    yabby.env_clear().env("HOME", state.parent().unwrap()).arg("--state-dir").arg(state);
    yabby.arg("doctor").args(arguments).output().expect("yabby starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn tortured(damage: Damage) -> (TempDir, PathBuf) {
    let home = TempDir::new().unwrap();
    let state = home.path().canonicalize().unwrap().join("state");
    torture::build(&state, damage, 2).unwrap();
    (home, state)
}

#[test]
fn damage_is_told_with_its_remedy_and_repaired_with_a_proof() {
    let (_home, state) = tortured(Damage::Repairable);
    let told = doctor(&state, &[]);
    assert_eq!(told.status.code(), Some(1));
    let shown = text(&told.stdout);
    for part in [
        "✗ Stores",
        "agents/garbage/sessions/sessions.json It is not JSON; 2 records can be read in it.",
        "(store-damaged)",
        "✓ Configuration",
        // Whoever types that works in the same folder.
        &format!("Run: yabby --state-dir {} doctor --fix", state.display()),
    ] {
        assert!(shown.contains(part), "{part:?} is missing in:\n{shown}");
    }
    assert!(
        !shown.contains('\u{1b}') && told.stderr.is_empty(),
        "a pipe gets plain text: {:?}",
        text(&told.stderr)
    );

    // In a pipe nobody is asked.
    let fixed = doctor(&state, &["--repair", "--non-interactive", "--no-workspace-suggestions", "--deep"]);
    let shown = text(&fixed.stdout);
    assert_eq!(fixed.status.code(), Some(0), "{shown}");
    assert!(shown.contains("nothing is missing: ") && shown.contains("Backup of everything"), "{shown}");
    let again = doctor(&state, &["--fix", "--yes"]);
    assert_eq!(again.status.code(), Some(0));
    assert!(text(&again.stdout).ends_with("There was nothing to repair.\n"), "{}", text(&again.stdout));
    assert_eq!(doctor(&state, &[]).status.code(), Some(0));
}

#[test]
fn json_tells_everything_and_the_exit_code_what_is_left() {
    let (_home, state) = tortured(Damage::Everything);
    let examined = doctor(&state, &["--json"]);
    assert_eq!(examined.status.code(), Some(1));
    let told = report(&examined);
    assert_eq!((told["folder"].as_str(), told["ok"].as_bool()), (state.to_str(), Some(false)));
    assert!(told["checked"]["transcripts"].as_u64() > Some(40), "{}", told["checked"]);
    let finding =
        told["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == "transcript-not-json");
    let finding = finding.unwrap();
    assert_eq!((&finding["severity"], &finding["area"]), (&"damage".into(), &"transcripts".into()));
    assert_eq!((&finding["lines"], &finding["fixable"]), (&serde_json::json!([4]), &true.into()));
    assert!(told.get("fixed").is_none());

    let fixed = doctor(&state, &["--fix", "--json"]);
    let told = report(&fixed);
    // What only a person can put right is left, and told.
    assert_eq!((fixed.status.code(), told["ok"].as_bool()), (Some(1), Some(false)));
    let left = told["findings"].as_array().unwrap().iter().filter(|finding| finding["severity"] == "damage");
    let mut left: Vec<&str> = left.map(|finding| finding["code"].as_str().unwrap()).collect();
    left.sort_unstable();
    left.dedup();
    assert_eq!(left, ["config-unreadable", "json-damaged", "store-unreadable", "transcript-unreadable"]);
    assert_eq!((&told["proof"]["ok"], &told["proof"]["missing"]), (&true.into(), &serde_json::json!([])));
    assert!(Path::new(told["backup"].as_str().unwrap()).starts_with(state.join("backups")));
    assert!(!told["fixed"].as_array().unwrap().is_empty());
}

#[test]
fn a_folder_that_is_not_there_is_no_damage() {
    let home = TempDir::new().unwrap();
    let told = doctor(&home.path().join("none"), &["--json"]);
    assert_eq!(told.status.code(), Some(0));
    assert_eq!(report(&told)["findings"][0]["code"], "folder-missing");
    let fixed = doctor(&home.path().join("none"), &["--fix"]);
    assert_eq!(fixed.status.code(), Some(0), "{fixed:?}");
    assert!(!home.path().join("none").exists());
}

#[test]
fn a_configuration_of_another_release_is_repaired_and_loses_nothing() {
    let home = TempDir::new().unwrap();
    let state = home.path().join("state");
    std::fs::create_dir(&state).unwrap();
    let file = state.join("openclaw.json");
    //  before                                                    code                  after the repair
    let table = [
        ("{\n  // mine\n  \"telegram\": {\"botToken\": \"1:a\"}\n}\n", "config-legacy-key", "\"channels\""),
        ("{\n  // mine\n  \"future\": 7\n}\n", "config-unknown-key", "/* \"future\": 7 */"),
    ];
    for (before, code, kept) in table {
        std::fs::write(&file, before).unwrap();
        let told = report(&doctor(&state, &["--json"]));
        let finding = &told["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == code);
        let finding = finding.unwrap_or_else(|| panic!("{code} is not found: {told:#}"));
        assert_eq!(
            (&finding["fixable"], &finding["lines"]),
            (&true.into(), &serde_json::json!([3])),
            "{finding}"
        );
        let fixed = doctor(&state, &["--fix", "--json"]);
        assert_eq!(fixed.status.code(), Some(0), "{}", text(&fixed.stdout));
        let after = std::fs::read_to_string(&file).unwrap();
        assert!(after.contains(kept) && after.contains("// mine"), "{after}");
        let backup = PathBuf::from(report(&fixed)["backup"].as_str().unwrap());
        assert_eq!(std::fs::read_to_string(backup.join("openclaw.json")).unwrap(), before);
        assert_eq!(report(&doctor(&state, &["--fix", "--json"]))["fixed"], serde_json::json!([]));
    }
    // What is merely wrong is for the person to say.
    std::fs::write(&file, "{gateway: {port: \"x\"}, future: 7}").unwrap();
    let told = doctor(&state, &["--fix", "--json"]);
    assert_eq!(told.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{gateway: {port: \"x\"}, future: 7}");
    // Old keys do not hide it.
    std::fs::write(&file, "{telegram: {botToken: \"1:a\"},\ngateway: {port: \"x\"}}").unwrap();
    let told = text(&doctor(&state, &["--fix"]).stdout);
    assert!(told.contains("openclaw.json:2 gateway.port: Invalid input: expected number"), "{told}");
}

/// Runs yabby as somebody whom modes stop; root may read everything. `None` where there is nobody else to be.
fn as_plain_user(home: &Path, arguments: &[&str]) -> Option<Output> {
    const NOBODY: u32 = 65534;
    let mut yabby = Command::new(env!("CARGO_BIN_EXE_yabby"));
    let is_root = tempfile::tempfile().unwrap().metadata().unwrap().uid() == 0;
    if is_root {
        // The folder of the build may be closed to them.
        let own = home.join("yabby");
        if !own.exists() {
            fs::copy(env!("CARGO_BIN_EXE_yabby"), &own).unwrap();
        }
        let files = std::iter::once(home.to_owned()).chain(below(home));
        if files.into_iter().any(|path| chown(path, Some(NOBODY), Some(NOBODY)).is_err()) {
            return None;
        }
        yabby = Command::new(own);
        yabby.uid(NOBODY).gid(NOBODY);
    }
    yabby.env_clear().env("HOME", home).current_dir("/");
    Some(yabby.args(arguments).output().expect("yabby starts"))
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            let inside = if path.is_dir() { below(&path) } else { Vec::new() };
            std::iter::once(path).chain(inside)
        })
        .collect()
}

#[test]
fn what_is_closed_to_its_owner_is_opened_and_nothing_else_is_called_damaged() {
    let home = TempDir::new().unwrap();
    let state = home.path().join(".openclaw");
    let sessions = state.join("agents/main/sessions");
    fs::create_dir_all(&sessions).unwrap();
    fs::write(sessions.join("sessions.json"), "{\"agent:main:main\":{\"sessionId\":\"s\",\"updatedAt\":1}}")
        .unwrap();
    let conversation = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-02-03T12:00:00.000Z\",\"cwd\":\"/\"}\n\
        {\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2026-02-03T12:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"hello\"}}\n";
    fs::write(sessions.join("s.jsonl"), conversation).unwrap();
    //  what is closed, to which mode
    let table: [&[(&str, u32)]; 5] = [
        &[("agents/main/sessions/sessions.json", 0)],
        &[("agents/main/sessions/s.jsonl", 0o200)],
        &[("agents/main/sessions", 0)],
        &[("agents/main/sessions", 0o500), ("agents", 0o400)],
        &[("agents/main/sessions/sessions.json", 0o400), ("agents/main", 0o100), (".", 0)],
    ];
    for closed in table {
        for (path, mode) in closed {
            fs::set_permissions(state.join(path), Permissions::from_mode(*mode)).unwrap();
        }
        let Some(told) = as_plain_user(home.path(), &["doctor", "--json"]) else { return };
        let codes = |told: &Output| -> Vec<String> {
            let found = report(told)["findings"].as_array().unwrap().clone();
            found.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
        };
        assert!(codes(&told).iter().any(|code| code == "closed-to-owner"), "{closed:?}: {:?}", codes(&told));
        assert!(
            !codes(&told).iter().any(|code| code == "transcript-orphaned"),
            "{closed:?}: {:?}",
            codes(&told)
        );
        let fixed = as_plain_user(home.path(), &["doctor", "--fix", "--json"]).unwrap();
        assert_eq!(fixed.status.code(), Some(0), "{closed:?}: {fixed:?}");
        assert_eq!(
            (&report(&fixed)["ok"], report(&fixed)["proof"]["records"].as_u64()),
            (&true.into(), Some(1))
        );
        let backup = PathBuf::from(report(&fixed)["backup"].as_str().unwrap());
        let modes = fs::read_to_string(backup.join("permissions.txt")).unwrap();
        for (_, mode) in closed {
            assert!(
                modes.lines().any(|line| line.starts_with(&format!("{mode:04o} "))),
                "{closed:?}: {modes}"
            );
        }
        let history = as_plain_user(home.path(), &["history", "main"]).unwrap();
        assert!(text(&history.stdout).contains("hello"), "{closed:?}: {history:?}");
        assert_eq!(fs::read_to_string(sessions.join("s.jsonl")).unwrap(), conversation);
    }
}

#[test]
fn a_folder_is_moved_with_everything_in_it_and_found_again() {
    let home = Home::empty();
    let (old, new) = (home.path().join(".yabby"), home.path().join("elsewhere/.openclaw"));
    fs::remove_dir_all(home.path().join(".openclaw")).unwrap();
    fs::create_dir(home.path().join("elsewhere")).unwrap();
    home.out(&["setup"]);
    home.out(&["agent", "--local", "--agent", "main", "-m", "Remember that the key is with Ann."]);
    assert!(old.join("yabby.json").is_file());
    assert!(home.refusal(&["move", "~/.yabby/inside"]).contains("Nothing was moved"));
    assert!(home.refusal(&["move", "elsewhere"]).contains("is there already"));
    let told = home.json(&["move", "elsewhere/.openclaw"]);
    assert_eq!((&told["ok"], told["to"].as_str()), (&Value::Bool(true), new.to_str()), "{told}");
    assert!(!old.exists() && !new.join("yabby.json").exists());
    let state = ["--state-dir", "elsewhere/.openclaw"];
    let config = home.out(&[&state[..], &["config", "get", "agents.defaults.workspace"]].concat());
    assert_eq!(config.trim(), new.join("workspace").to_str().unwrap());
    let store = fs::read_to_string(new.join("agents/main/sessions/sessions.json")).unwrap();
    assert!(!store.contains("/.yabby/"), "{store}");
    let shown = home.out(&[&state[..], &["history", "main"]].concat());
    assert!(shown.contains("the key is with Ann"), "{shown}");
    let answer =
        home.out(&[&state[..], &["agent", "--local", "--agent", "main", "-m", "Where is the key?"]].concat());
    assert!(answer.contains("with Ann"), "{answer}");
    assert!(!old.exists(), "the old folder was made again");
}
