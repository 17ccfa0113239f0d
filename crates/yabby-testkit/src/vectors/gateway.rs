//! Recorded scenarios of the gateway: each is played against a freshly started one by the rules of
//! `vectors/gateway/README.md`, and compared by those of `compare.py` there.

mod by_design;
mod clients;
mod compare;
mod connection;
mod device;
mod home;
mod http;
mod lanes;
mod later;
mod normal;
mod player;
mod process;
mod scenario;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use yabby_domain::json::Value;

use super::{FileReport, Outcome, Standing, broken, name_of, not_yet};
use crate::stand_in::recorded_model::RecordedModel;
pub(super) use by_design::{LATER_METHODS, MARK, SECRETS};
use home::Home;
pub(super) use home::Ports;
pub(super) use process::Gateway;
pub use process::Launch;
use scenario::Scenario;

/// They wait most of the time.
const AT_ONCE: usize = 8;

/// How scenarios are played.
#[derive(Clone, Debug)]
pub struct Replay {
    pub launch: Launch,
    /// How many are played at the same time.
    pub at_once: usize,
    /// Where our own recordings are kept.
    pub recordings: Option<PathBuf>,
    /// Recordings that are judged instead of playing anything.
    pub kept: Option<PathBuf>,
    pub judged: Judged,
}

/// What a gateway is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// The recordings, and our own promises where they differ.
    AsOurs,
    /// The recordings alone.
    AsTheReference,
}

impl Replay {
    pub fn yabby(program: &Path) -> Self {
        let launch = Launch::yabby(program);
        Self { launch, at_once: AT_ONCE, recordings: None, kept: None, judged: Judged::AsOurs }
    }

    /// Another program, held to the recordings alone.
    pub fn foreign(words: &str) -> Self {
        let launch = Launch::foreign(words);
        Self { launch, at_once: AT_ONCE, recordings: None, kept: None, judged: Judged::AsTheReference }
    }
}

/// The names of our deliberate differences.
pub(super) fn differences() -> impl Iterator<Item = &'static str> {
    by_design::RULES.iter().map(|rule| rule.name)
}

/// Whether a file is the recording of a scenario.
pub(super) fn is_scenario(file: &Path) -> bool {
    let is_lines = file.extension().is_some_and(|end| end == "jsonl");
    is_lines && fs::read_to_string(file).is_ok_and(|text| text.starts_with("{\"meta\":"))
}

/// Plays scenarios, several at a time, those that take longest first.
pub(super) fn run(files: &[PathBuf], replay: &Replay) -> Vec<FileReport> {
    let mut reports = BTreeMap::new();
    let mut waiting = Vec::new();
    for file in files {
        let name = format!("gateway/{}", name_of(file));
        match Scenario::load(file) {
            Err(error) => drop(reports.insert(name.clone(), broken(&name, error))),
            Ok(scenario) if replay.judged == Judged::AsOurs && later::is_needed(&scenario) => {
                reports.insert(name.clone(), not_yet(&name));
            }
            Ok(scenario) => waiting.push((name, homes(file), scenario)),
        }
    }
    waiting.sort_by_key(|(_, _, scenario)| std::cmp::Reverse(scenario.duration()));
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    match runtime {
        Ok(runtime) => {
            let played = runtime.block_on(play_all(waiting, replay));
            reports.extend(played.into_iter().map(|report| (report.file.clone(), report)));
        }
        Err(error) => {
            let failed = |(name, ..): (String, _, _)| (name.clone(), broken(&name, error.to_string()));
            reports.extend(waiting.into_iter().map(failed));
        }
    }
    reports.into_values().collect()
}

/// The homes beside a recording, else the project's own.
fn homes(file: &Path) -> PathBuf {
    let beside = file.parent().map(|folder| folder.join("homes")).filter(|homes| homes.is_dir());
    beside.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/gateway/homes"))
}

async fn play_all(waiting: Vec<(String, PathBuf, Scenario)>, replay: &Replay) -> Vec<FileReport> {
    let seats = Arc::new(Semaphore::new(replay.at_once.max(1)));
    let mut playing = JoinSet::new();
    for (name, homes, scenario) in waiting {
        let seat = seats.clone().acquire_owned().await;
        let replay = replay.clone();
        playing.spawn(async move {
            let report = match play(&name, &homes, &scenario, &replay).await {
                Ok(outcome) => FileReport {
                    file: name,
                    cases: vec![(scenario.meta["desc"].as_str().unwrap_or_default().to_owned(), outcome)],
                    standing: Standing::Run,
                    error: None,
                },
                Err(error) => broken(&name, error.to_string()),
            };
            drop(seat);
            report
        });
    }
    let mut reports = Vec::new();
    while let Some(played) = playing.join_next().await {
        // A judge that panics is a fault of the judge.
        reports.push(played.unwrap_or_else(|error| broken("gateway", error.to_string())));
    }
    reports
}

async fn play(name: &str, homes: &Path, recorded: &Scenario, replay: &Replay) -> io::Result<Outcome> {
    let file = name_of(Path::new(name));
    if let Some(folder) = &replay.kept {
        let kept = Scenario::load(&folder.join(file)).map_err(io::Error::other)?;
        return Ok(judge(recorded, &kept, replay.judged));
    }
    let asked_by_clients = (!recorded.is_replayed()).then(|| clients::scenario(recorded));
    let scenario = asked_by_clients.as_ref().unwrap_or(recorded);
    let (ports, listener) = Ports::free()?;
    let package = replay.launch.package().map(|folder| (folder, "/opt/openclaw".to_owned()));
    let home = Home::copy(&homes.join(scenario.home()), &ports, package.as_slice())?;
    if scenario.asks_for_pages() {
        home.put_page()?;
    }
    if replay.judged == Judged::AsOurs && scenario.runs_commands() {
        home.allow_commands()?;
    }
    let _model = RecordedModel::on(listener)?;
    let environment = scenario.environment();
    let log = home.beside("gateway.log");
    let gateway = Gateway::start(&replay.launch, home.path(), home.port, log, environment).await?;
    let actual = player::play(scenario, &home, &gateway).await;
    if let Some(folder) = &replay.recordings {
        fs::create_dir_all(folder)?;
        fs::write(folder.join(file), actual.text())?;
    }
    let mut outcome = judge(recorded, &actual, replay.judged);
    let is_broken_off = actual.lines.iter().any(|line| line["dir"] == "note");
    if let Outcome::Failed { actual: Value::Array(told), .. } = &mut outcome
        && is_broken_off
    {
        told.extend(gateway.said().lines().map(|line| format!("gateway: {line}").into()));
    }
    Ok(outcome)
}

fn judge(recorded: &Scenario, actual: &Scenario, judged: Judged) -> Outcome {
    if !recorded.is_replayed() {
        return told(clients::unanswered(actual));
    }
    let as_recorded = compare::differences(recorded, actual);
    if judged == Judged::AsTheReference {
        return told(as_recorded);
    }
    let (promised, rules) = by_design::promised(recorded);
    let differences = compare::differences(&promised, actual);
    match differences.is_empty() && !as_recorded.is_empty() {
        true => Outcome::ByDesign(rules),
        false => told(differences),
    }
}

/// Passed without differences.
fn told(differences: Vec<String>) -> Outcome {
    match differences.is_empty() {
        true => Outcome::Passed,
        false => Outcome::Failed { expected: Value::Array(Vec::new()), actual: differences.into() },
    }
}

/// The project's own recordings, by name.
#[cfg(test)]
fn recordings() -> Vec<(String, Scenario)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/gateway");
    let files = super::sorted(&folder).expect("the recordings can be listed");
    let files = files.into_iter().filter(|file| is_scenario(file));
    files.map(|file| (name_of(&file), Scenario::load(&file).expect("it is a scenario"))).collect()
}
