//! Every command on a folder in which everything is damaged, among ten thousand sessions.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use yabby_testkit::torture::{self, Damage};

const SESSIONS: usize = 10_000;

struct Folder {
    home: TempDir,
    state: PathBuf,
}

impl Folder {
    fn tortured() -> Self {
        let home = TempDir::new().unwrap();
        let state = home.path().canonicalize().unwrap().join("state");
        torture::build(&state, Damage::Repairable, SESSIONS).unwrap();
        Self { home, state }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut yabby = Command::new(env!("CARGO_BIN_EXE_yabby"));
        yabby.env_clear().env("HOME", self.home.path()).env("TZ", "UTC");
        yabby.arg("--state-dir").arg(&self.state).args(arguments).output().expect("yabby starts")
    }

    /// Runs a command that may succeed or fail, but in the way a command does.
    fn behaves(&self, arguments: &[&str]) -> Output {
        let output = self.run(arguments);
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1)), "{arguments:?} ended with {code:?}: {complaint}");
        assert!(!complaint.contains("panicked"), "{arguments:?}: {complaint}");
        if code == Some(1) && arguments.first() != Some(&"doctor") {
            assert!(!complaint.trim().is_empty(), "{arguments:?} failed without a word");
        }
        if code == Some(0) && arguments.contains(&"--json") {
            let parsed = serde_json::from_slice::<Value>(&output.stdout);
            assert!(parsed.is_ok(), "{arguments:?} prints no JSON: {parsed:?}");
        }
        output
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.behaves(arguments);
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {complaint}"))
    }

    fn agents(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.state.join("agents")).unwrap();
        let mut agents: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        agents.sort();
        agents
    }

    fn transcripts(&self, agent: &str) -> Vec<PathBuf> {
        let folder = self.state.join("agents").join(agent).join("sessions");
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect()
    }
}

fn name(path: &Path) -> &str {
    path.to_str().expect("names of the test are text")
}

#[test]
fn every_command_behaves_and_a_repair_makes_all_of_them_work() {
    let folder = Folder::tortured();
    let every_command = |folder: &Folder| {
        for agent in folder.agents() {
            folder.behaves(&["sessions", "--json", "--agent", &agent]);
            folder.behaves(&["history", "--agent", &agent, "--limit", "3"]);
            // Of the ten thousand sound ones a few will do.
            for file in folder.transcripts(&agent).iter().take(if agent == "main" { 3 } else { 100 }) {
                folder.behaves(&["history", name(file)]);
                folder.behaves(&["history", name(file), "--tree", "--json"]);
                folder.behaves(&["history", name(file), "--context", "--json"]);
            }
        }
        folder.behaves(&["sessions", "--agent", "all", "--search", "dm:77"]);
        folder.behaves(&["agents", "list", "--json"]);
        folder.behaves(&["config", "get", "--all", "--json"]);
        folder.behaves(&["config", "validate", "--json"]);
        folder.behaves(&["sessions", "label", "agent:main:telegram:dm:7", "seven", "--json"]);
        folder.behaves(&["sessions", "fork", "agent:main:telegram:dm:7", "--json"]);
        folder.behaves(&["sessions", "export", "agent:main:telegram:dm:7"]);
        folder.behaves(&["sessions", "compact", "agent:main:telegram:dm:7", "--max-lines", "1", "--json"]);
        folder.behaves(&["sessions", "reset", "agent:main:telegram:dm:8", "--json"]);
        folder.behaves(&["sessions", "delete", "agent:main:telegram:dm:9", "--yes", "--json"]);
    };
    every_command(&folder);
    let listed = folder.json(&["sessions", "--json"]);
    assert!(listed["count"].as_u64() >= Some(SESSIONS as u64 - 1), "{}", listed["count"]);

    let told = folder.json(&["doctor", "--fix", "--json"]);
    assert_eq!(
        (&told["ok"], &told["failed"]),
        (&Value::from(true), &serde_json::json!([])),
        "{:#}",
        told["findings"]
    );
    assert_eq!(told["proof"]["missing"], serde_json::json!([]));
    assert!(told["proof"]["records"].as_u64() >= Some(SESSIONS as u64), "{}", told["proof"]);

    every_command(&folder);
    // One of the folders has no agent's name.
    for agent in folder.agents().iter().filter(|agent| !agent.contains(' ')) {
        let listed = folder.run(&["sessions", "--json", "--agent", agent]);
        assert!(listed.status.success(), "{agent}: {}", String::from_utf8_lossy(&listed.stderr));
    }
    let again = folder.json(&["doctor", "--json"]);
    assert_eq!(again["ok"], true, "{:#}", again["findings"]);
}
