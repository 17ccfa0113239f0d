//! Recorded command lines: each runs the built program on a fresh copy of a home folder.

mod company;
mod home;
mod normal;
mod shape;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::json;
use yabby_domain::json::{self, Object, Value};

use super::gateway::{LATER_METHODS, Replay, SECRETS};
use super::{FileReport, Outcome, Standing, broken, compare, not_yet};
use company::Company;
use home::Home;
use normal::Normal;

/// Commands that exist; recordings of others wait for theirs.
const COMMANDS: [&[&str]; 18] = [
    &["sessions"],
    &["agents"],
    &["config"],
    &["agent"],
    &["models"],
    &["memory"],
    &["gateway"],
    &["status"],
    &["health"],
    &["message", "send"],
    &["channels", "list"],
    &["channels", "status"],
    &["pairing"],
    &["devices"],
    &["logs"],
    &["system"],
    &["plugins", "list"],
    &["hooks", "list"],
];
/// Whether `agent` asks the gateway, and does it by itself where there is none.
const AGENT_ASKS_THE_GATEWAY: bool = true;
/// What the reference says when it wanted a gateway and found none.
const WITHOUT_GATEWAY: &str = "Gateway agent failed; falling back to embedded";
/// The environment of commands and gateways, besides their home and where programs are.
const ENVIRONMENT: [(&str, &str); 4] =
    [("TERM", "dumb"), ("NO_COLOR", "1"), ("COLUMNS", "100"), ("TZ", "UTC")];

/// An edit leaves `$include` and `${NAME}` as they were written, where the reference writes what they
/// resolve to.
pub(super) const REFERENCES_KEPT: &str = "config-edits-keep-references";
/// Where there is no OpenClaw folder, ours is used.
pub(super) const OWN_FOLDER: &str = "a-new-home-gets-our-own-folder";
/// Our own index is told beside the reference's, and the extension for vectors is built in.
pub(super) const OWN_MEMORY: &str = "memory-status-tells-of-both-indexes";
/// An error is told like any other, and not as one that nobody caught.
pub(super) const CAUGHT: &str = "every-error-is-told-alike";
/// What was used is told from our own ledger, and not from all transcripts, every time.
pub(super) const OWN_LEDGER: &str = "usage-is-what-the-ledger-has";
pub(super) const DIFFERENCES: [&str; 5] = [REFERENCES_KEPT, OWN_FOLDER, OWN_MEMORY, CAUGHT, OWN_LEDGER];
/// What stands in the place of a secret, here and in later releases of the reference.
const MARK: &str = "__OPENCLAW_REDACTED__";
/// What the reference says of an error that it did not catch.
const UNCAUGHT: &str = "[yabby] Failed to start CLI: ";
/// Commands that ask for methods which come later, and what ours say of it.
const LATER_COMMANDS: [&[&str]; 2] =
    [&["system", "heartbeat", "enable"], &["system", "heartbeat", "disable"]];
const LATER: &str = "Error: yabby has no heartbeat yet";

/// What is run, and on what.
pub struct Program {
    pub path: PathBuf,
    /// Homes for samples that come without theirs.
    pub homes: PathBuf,
    /// How scenarios of the gateway are played, if not with this program.
    pub replay: Option<Replay>,
}

impl Program {
    pub fn new(path: PathBuf, homes: PathBuf) -> Self {
        Self { path, homes, replay: None }
    }

    /// How scenarios of the gateway are played; `None` while this program has no gateway.
    pub(super) fn replay(&self) -> Option<Replay> {
        let own = exists(&["gateway".to_owned(), "run".to_owned()]).then(|| Replay::yabby(&self.path));
        self.replay.clone().or(own)
    }
}

/// Whether the command that these words begin with exists.
fn exists(command: &[String]) -> bool {
    begins_with_one_of(&COMMANDS, command)
}

fn begins_with_one_of(commands: &[&[&str]], command: &[String]) -> bool {
    let is_begun_by = |words: &&[&str]| {
        words.len() <= command.len() && words.iter().zip(command).all(|(word, own)| word == own)
    };
    commands.iter().any(is_begun_by)
}

/// Runs the sample in a file.
pub(super) fn run_file(path: &Path, file: &str, program: &Program) -> FileReport {
    let sample = match std::fs::read_to_string(path).map(|text| json::parse(&text)) {
        Ok(Ok(sample @ Value::Object(_))) => Sample(sample),
        // A list says which recordings tell nothing about another program.
        Ok(Ok(_)) => return not_yet(file),
        Ok(Err(error)) => return broken(file, error.to_string()),
        Err(error) => return broken(file, error.to_string()),
    };
    if !sample.is_ours() {
        return not_yet(file);
    }
    let beside = path.parent().map(|folder| folder.join("homes")).filter(|homes| homes.is_dir());
    match sample.judge(&program.path, &beside.unwrap_or_else(|| program.homes.clone())) {
        Ok(outcome) => FileReport {
            file: file.to_owned(),
            cases: vec![(sample.command().join(" "), outcome)],
            standing: Standing::Run,
            error: None,
        },
        Err(error) => broken(file, error.to_string()),
    }
}

struct Sample(Value);

/// What a run left behind.
struct Ran {
    output: Output,
    home: Home,
}

impl Sample {
    fn field(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or(&Value::Null)
    }

    fn command(&self) -> Vec<String> {
        super::texts(self.field("cmd")).into_iter().skip(1).collect()
    }

    fn is_ours(&self) -> bool {
        let command = self.command();
        let has_gateway = exists(&["gateway".to_owned(), "run".to_owned()]);
        let falls_back = self.field("stderr").as_str().is_some_and(|told| told.starts_with(WITHOUT_GATEWAY));
        let asks_for_agent = command.first().is_some_and(|word| word == "agent");
        let through_gateway = falls_back || (asks_for_agent && !self.field("gateway").is_null());
        exists(&command)
            && (has_gateway || self.field("gateway").is_null())
            && (AGENT_ASKS_THE_GATEWAY || !through_gateway)
    }

    fn judge(&self, program: &Path, homes: &Path) -> std::io::Result<Outcome> {
        let ran = self.run(program, homes)?;
        let normal = Normal::new(&self.command(), &ran.home);
        let expected = self.recorded(&normal);
        let actual = self.observed(&ran, &normal);
        if matches(&expected, &actual) {
            return Ok(Outcome::Passed);
        }
        let is_foreign = ran.home.has_openclaw_folder();
        if !is_foreign && matches(&expected, &self.observed(&ran, &normal.with_our_folder())) {
            return Ok(Outcome::ByDesign(vec![OWN_FOLDER]));
        }
        let ours = normal.with_our_memory();
        if self.tells_memory() && matches(&self.recorded(&ours), &self.observed(&ran, &ours)) {
            return Ok(Outcome::ByDesign(vec![OWN_MEMORY]));
        }
        if matches(&caught(&expected), &actual) {
            return Ok(Outcome::ByDesign(vec![CAUGHT]));
        }
        if begins_with_one_of(&[&["gateway", "call"]], &self.command())
            && matches(&hidden(&expected, &actual), &actual)
        {
            return Ok(Outcome::ByDesign(vec![SECRETS]));
        }
        let asks_for_usage = begins_with_one_of(&[&["gateway", "usage-cost"]], &self.command());
        let has_no_ledger = !ran.home.path().join(".openclaw/usage").exists();
        if asks_for_usage
            && has_no_ledger
            && matches(&without(&expected, "exact"), &without(&actual, "exact"))
        {
            return Ok(Outcome::ByDesign(vec![OWN_LEDGER]));
        }
        if self.is_later(&ran) {
            return Ok(Outcome::ByDesign(vec![LATER_METHODS]));
        }
        let keeps_references = ran.home.uses_references() && ran.home.still_uses_references()?;
        if keeps_references && matches(&without(&expected, "after"), &without(&actual, "after")) {
            return Ok(Outcome::ByDesign(vec![REFERENCES_KEPT]));
        }
        Ok(Outcome::Failed { expected, actual })
    }

    /// Whether a running gateway said that it has nothing of the kind yet.
    fn is_later(&self, ran: &Ran) -> bool {
        let Output { status, stdout, stderr } = &ran.output;
        begins_with_one_of(&LATER_COMMANDS, &self.command())
            && status.code() == Some(1)
            && stdout.is_empty()
            && String::from_utf8_lossy(stderr).starts_with(LATER)
    }

    fn tells_memory(&self) -> bool {
        self.command().first().is_some_and(|command| command == "memory")
    }

    fn run(&self, program: &Path, homes: &Path) -> std::io::Result<Ran> {
        let name = self.field("home").as_str().unwrap_or_default();
        let company = Company::gather(self.tells_memory())?;
        let home = Home::copy(&homes.join(name), company.ports())?;
        // One and the same copy where both have one home.
        let gateway = self.field("gateway").as_str();
        let other = gateway.filter(|other| *other != name);
        let other = other.map(|other| Home::copy(&homes.join(other), company.ports())).transpose()?;
        let _gateway = match gateway {
            Some(_) => Some(company.gateway(program, other.as_ref().unwrap_or(&home))?),
            None => None,
        };
        for before in self.field("pre").as_array().into_iter().flatten() {
            self.start(program, &home, &company, &super::texts(before))?;
        }
        let output = self.start(program, &home, &company, &self.command())?;
        Ok(Ran { output, home })
    }

    fn start(
        &self,
        program: &Path,
        home: &Home,
        company: &Company,
        arguments: &[String],
    ) -> std::io::Result<Output> {
        let filled = arguments.iter().map(|argument| home.filled(argument));
        let mut command = Command::new(program);
        command.args(filled).current_dir(home.path()).env_clear().stdin(Stdio::null());
        command.env("HOME", home.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(ENVIRONMENT);
        for (name, value) in self.field("env").as_object().into_iter().flatten() {
            command.env(name, home.filled(value.as_str().unwrap_or_default()));
        }
        company.run(command)
    }

    /// What was recorded, as far as it counts.
    fn recorded(&self, normal: &Normal) -> Value {
        let mut told = Object::new();
        told.insert("exit".to_owned(), self.field("exit").clone());
        for stream in ["stdout", "stderr"] {
            if let Some(text) = self.field(stream).as_str() {
                self.insert_text(&mut told, stream, &normal.text(text));
            }
        }
        if let Some(recorded) = self.0.get("json") {
            told.insert("json".to_owned(), json!([]));
            told.insert("exact".to_owned(), self.exact(recorded, normal));
        }
        if self.compares("after") {
            told.insert("after".to_owned(), normal.file_contents(self.field("after")));
        }
        Value::Object(told)
    }

    /// The same about our run.
    fn observed(&self, ran: &Ran, normal: &Normal) -> Value {
        let Output { status, stdout, stderr } = &ran.output;
        let mut told = Object::new();
        told.insert("exit".to_owned(), json!(status.code()));
        for (stream, bytes) in [("stdout", stdout), ("stderr", stderr)] {
            if self.field(stream).is_string() {
                self.insert_text(&mut told, stream, &normal.text(&String::from_utf8_lossy(bytes)));
            }
        }
        if let Some(recorded) = self.0.get("json") {
            match json::parse(&String::from_utf8_lossy(stdout)) {
                Ok(ours) => {
                    let ignored = super::texts(self.compare("ignore"));
                    told.insert("json".to_owned(), shape::differences(recorded, &ours, &ignored).into());
                    told.insert("exact".to_owned(), self.exact(&ours, normal));
                }
                Err(error) => drop(told.insert("json".to_owned(), json!([error.to_string()]))),
            }
        }
        if self.compares("after") {
            let files = self.field("after").as_object().into_iter().flatten();
            let contents = files.map(|(file, _)| (file.clone(), ran.home.json_at(file)));
            told.insert("after".to_owned(), normal.file_contents(&Value::Object(contents.collect())));
        }
        Value::Object(told)
    }

    fn compare(&self, what: &str) -> &Value {
        self.field("compare").get(what).unwrap_or(&Value::Null)
    }

    fn compares(&self, what: &str) -> bool {
        self.compare(what) == "exact"
    }

    fn exact(&self, value: &Value, normal: &Normal) -> Value {
        let paths = super::texts(self.compare("exact"));
        let at = |path: String| {
            let value = shape::at(value, &path).map_or(Value::Null, |value| normal.value(value));
            (path, value)
        };
        Value::Object(paths.into_iter().map(at).collect())
    }

    fn insert_text(&self, told: &mut Object, stream: &str, text: &str) {
        let mode = self.compare(stream).as_str().unwrap_or("none");
        let seen = match mode.split_once(':') {
            Some(("from", line)) => {
                let line = line.replace("openclaw", "yabby");
                let from = text.lines().skip_while(|other| **other != line);
                from.collect::<Vec<_>>().join("\n").into()
            }
            Some(("prefix", start)) => {
                let length = start.len();
                text.get(..length).unwrap_or(text).into()
            }
            _ if mode == "none" => return,
            _ if mode == "first-line" => text.lines().next().unwrap_or_default().into(),
            _ if mode == "skeleton" => {
                text.lines().map(|line| line.split(':').next().unwrap_or_default()).collect::<Value>()
            }
            _ => text.into(),
        };
        told.insert(stream.to_owned(), seen);
    }
}

fn matches(expected: &Value, actual: &Value) -> bool {
    compare::matches(expected, actual)
}

/// What was recorded, with an error that was not caught told like any other.
fn caught(recorded: &Value) -> Value {
    let mut recorded = recorded.clone();
    if let Some(told) =
        recorded.get("stderr").and_then(Value::as_str).and_then(|told| told.strip_prefix(UNCAUGHT))
    {
        let told = told.to_owned();
        recorded["stderr"] = told.into();
    }
    recorded
}

/// What was recorded, without the secrets that we do not show.
fn hidden(recorded: &Value, ours: &Value) -> Value {
    let mut recorded = recorded.clone();
    for (path, value) in recorded.get_mut("exact").and_then(Value::as_object_mut).into_iter().flatten() {
        if json::at(ours, &["exact", path]).and_then(Value::as_str) == Some(MARK) {
            *value = MARK.into();
        }
    }
    recorded
}

fn without(value: &Value, field: &str) -> Value {
    let mut value = value.clone();
    if let Some(object) = value.as_object_mut() {
        object.shift_remove(field);
    }
    value
}
