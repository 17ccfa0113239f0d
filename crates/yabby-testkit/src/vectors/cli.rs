//! Recorded command lines: each runs the built program on a fresh copy of a home folder.

mod by_design;
mod company;
mod home;
mod normal;
mod shape;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::json;
use yabby_domain::json::{self, Object, Value};

use super::gateway::Replay;
use super::{FileReport, Outcome, Standing, broken, compare, not_yet};
pub(super) use by_design::differences;
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
        let (promised, rules) = by_design::promised(self, &ran.home, &normal, &expected);
        match matches(&promised, &actual) {
            true => Ok(Outcome::ByDesign(rules)),
            false => Ok(Outcome::Failed { expected: promised, actual }),
        }
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
