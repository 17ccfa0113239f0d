//! `yabby doctor`.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use yabby_testkit::torture::{self, Damage};

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

fn tortured(damage: Damage) -> (TempDir, std::path::PathBuf) {
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
        "Run: yabby doctor --fix",
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
