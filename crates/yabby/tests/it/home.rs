//! A home folder for one test, and a yabby that knows no other.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

pub const YABBY: &str = env!("CARGO_BIN_EXE_yabby");

/// The file of the project at a path from its root.
pub fn project(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

pub struct Home(TempDir);

/// What a command left behind.
#[derive(Debug, PartialEq, Eq)]
pub struct Told {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Home {
    /// With an OpenClaw folder that holds nothing.
    pub fn empty() -> Self {
        let home = Self(TempDir::new().unwrap());
        fs::create_dir_all(home.sessions()).unwrap();
        home
    }

    /// With these records in the store of the agent `main`.
    pub fn with(records: &Value) -> Self {
        let home = Self::empty();
        fs::write(home.store(), records.to_string()).unwrap();
        home
    }

    /// With one session, `agent:main:main`, in which these entries were said.
    pub fn saying(entries: &[Value]) -> Self {
        let home = Self::with(&json!({"agent:main:main": {"sessionId": MAIN, "updatedAt": 1}}));
        home.say(MAIN, entries);
        home
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn sessions(&self) -> PathBuf {
        self.path().join(".openclaw/agents/main/sessions")
    }

    pub fn store(&self) -> PathBuf {
        self.sessions().join("sessions.json")
    }

    pub fn transcript(&self, id: &str) -> PathBuf {
        self.sessions().join(format!("{id}.jsonl"))
    }

    /// Writes a transcript; its entries hang from one another in their order, unless they say otherwise.
    pub fn say(&self, id: &str, entries: &[Value]) {
        let header = json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-02-03T12:00:00.000Z", "cwd": "/w"});
        let mut lines = vec![header.to_string()];
        let mut parent = Value::Null;
        for entry in entries {
            let mut entry = entry.clone();
            let fields = entry.as_object_mut().unwrap();
            fields.entry("parentId").or_insert(parent);
            fields.entry("timestamp").or_insert("2026-02-03T12:00:00.000Z".into());
            parent = fields["id"].clone();
            lines.push(entry.to_string());
        }
        fs::write(self.transcript(id), lines.join("\n") + "\n").unwrap();
    }

    /// Writes a file below the home folder.
    pub fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a script that can be run.
    pub fn write_program(&self, file: &str, text: &str) {
        self.write(file, text);
        fs::set_permissions(self.path().join(file), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(YABBY);
        command.env_clear().env("HOME", self.path()).env("TZ", "UTC").current_dir(self.path());
        command.args(arguments).stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Told {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        // Every way to end is by a code: nothing was killed, nothing panicked.
        let code = output.status.code().unwrap();
        let told = Told { code, out: text(output.stdout), err: text(output.stderr) };
        assert!(matches!(code, 0 | 1), "{arguments:?}: {told:?}");
        told
    }

    /// Standard output of a command that succeeds without a word of complaint.
    pub fn out(&self, arguments: &[&str]) -> String {
        let told = self.run(arguments);
        assert_eq!((told.code, told.err.as_str()), (0, ""), "{arguments:?}: {told:?}");
        told.out
    }

    /// The one value that a command prints with `--json`.
    pub fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.out(&[arguments, &["--json"]].concat())).unwrap()
    }

    /// What a command says that fails; it prints nothing else.
    pub fn refusal(&self, arguments: &[&str]) -> String {
        let told = self.run(arguments);
        assert_eq!((told.code, told.out.as_str()), (1, ""), "{arguments:?}: {told:?}");
        told.err.trim_end().to_owned()
    }

    /// The records of the store, as they are seen from outside.
    pub fn records(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.store()).unwrap()).unwrap()
    }

    /// What the doctor finds, but for the permissions of the folders that this test made.
    pub fn complaints_of_the_doctor(&self) -> Vec<String> {
        let report: Value = serde_json::from_str(&self.run(&["doctor", "--json"]).out).unwrap();
        let findings = report["findings"].as_array().unwrap().iter();
        findings.filter(|finding| finding["code"] != "open-to-others").map(ToString::to_string).collect()
    }

    /// The session of a key, as yabby sees it; its file may follow later.
    pub fn session_id(&self, key: &str) -> String {
        let listed = self.json(&["sessions"]);
        let row = listed["sessions"].as_array().unwrap().iter().find(|row| row["key"] == key).unwrap();
        row["sessionId"].as_str().unwrap().to_owned()
    }

    /// Whether some process is answering a message: its journal says so.
    pub fn takes_a_turn(&self) -> bool {
        let turns = self.json(&["turns"]);
        turns["turns"].as_array().unwrap().iter().any(|turn| turn["stage"] == "running")
    }

    /// The names of all files beside the store.
    pub fn files(&self) -> Vec<String> {
        let names = fs::read_dir(self.sessions()).unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A transcript that this process writes, as far as anybody can see: whoever wants to write it waits.
pub struct Held(PathBuf);

impl Held {
    pub fn transcript(home: &Home, id: &str) -> Self {
        let path = home.sessions().join(format!("{id}.jsonl.lock"));
        let lock = yabby_domain::transcript::lock::lock_text(std::process::id(), jiff::Timestamp::now());
        fs::write(&path, lock).unwrap();
        Self(path)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

pub const MAIN: &str = "11111111-1111-4111-8111-111111111111";

pub fn message(id: &str, role: &str, text: &str) -> Value {
    json!({"type": "message", "id": id, "message": {"role": role, "content": text}})
}
