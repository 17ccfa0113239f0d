//! `cargo xtask bench cli`: commands of yabby beside the reference's, from the start of the process to its
//! end, in one run, in turns.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::machine;
use super::report::{self, Row, Target, median, seconds, times};
use crate::program::{Build, yabby};
use crate::reference::{self, Reference};

const SIZES: [usize; 2] = [10, 10_000];
const ROUNDS: usize = 7;
const WANTED: f64 = 50.0;

pub fn cli() -> Result<()> {
    let reference = Reference::installed()?;
    let yabby = yabby(Build::Shipped)?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(reference::cache()?)?;
    let mut rows = Vec::new();
    for sessions in SIZES {
        let home = folder.path().join(sessions.to_string());
        make(&home, sessions)?;
        rows.extend(list(&yabby, &reference, &home, sessions)?);
    }
    let table = report::table(&rows);
    let section = format!(
        "\n## Commands\n\n{}.\nyabby {} beside OpenClaw {} on Node {}, {}.\n\n{EXPLANATION}\n\n{table}",
        machine::describe(folder.path())?,
        machine::version()?,
        reference::OPENCLAW,
        reference.node_version()?.trim_start_matches('v'),
        machine::today()?,
    );
    report::publish("cli", &section)?;
    println!("{table}\nwritten to docs/benchmarks.md");
    Ok(())
}

const EXPLANATION: &str = "\
The median of seven runs each, in turns, from the start of the process to its end; both print the same sessions.";

/// A home with so many sessions, as a chat with as many people would leave it.
fn make(home: &Path, sessions: usize) -> Result<()> {
    let folder = reference::state_folder(home).join("agents/main/sessions");
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let record = |number: usize| {
        let record = json!({
            "sessionId": format!("{number:08}-0000-4000-8000-000000000000"),
            "updatedAt": 1_794_700_000_000_u64 + number as u64 * 1000,
            "systemSent": true,
            "chatType": "direct",
            "deliveryContext": {"channel": "telegram", "to": number.to_string(), "accountId": "default"},
            "origin": {"label": format!("Person {number}"), "provider": "telegram", "surface": "dm"},
            "compactionCount": 0,
            "inputTokens": 150_000,
            "outputTokens": 8000,
            "totalTokens": 158_000,
            "modelProvider": "anthropic",
            "model": "claude-sonnet-4-5",
            "contextTokens": 200_000,
            "lastChannel": "telegram",
            "lastTo": number.to_string(),
        });
        (format!("agent:main:telegram:dm:{number}"), record)
    };
    let store: serde_json::Map<String, Value> = (0..sessions).map(record).collect();
    fs::write(folder.join("sessions.json"), serde_json::to_string_pretty(&store)?)?;
    Ok(())
}

fn list(yabby: &Path, reference: &Reference, home: &Path, sessions: usize) -> Result<Vec<Row>> {
    let (mut ours, mut theirs) = (Runs::default(), Runs::default());
    for _ in 0..ROUNDS {
        let mut command = reference::isolated(yabby);
        command.env("OPENCLAW_STATE_DIR", reference::state_folder(home)).env("HOME", home);
        ours.add(command.args(["sessions", "--json"]))?;
        theirs.add(reference.openclaw(home).args(["sessions", "--json"]))?;
    }
    ensure!(ours.listed == sessions, "yabby lists {} of {sessions} sessions", ours.listed);
    ensure!(ours.listed == theirs.listed, "OpenClaw lists {} of {sessions} sessions", theirs.listed);
    let (our_time, their_time) = (median(ours.times), median(theirs.times));
    let ratio = their_time / our_time;
    Ok(vec![Row {
        what: format!("`sessions --json`, {sessions} sessions"),
        yabby: seconds(our_time),
        reference: seconds(their_time),
        ratio: times(ratio),
        target: Target::wanted(&format!("≥ {WANTED:.0} × faster"), ratio >= WANTED),
    }])
}

#[derive(Default)]
struct Runs {
    times: Vec<f64>,
    listed: usize,
}

impl Runs {
    fn add(&mut self, command: &mut Command) -> Result<()> {
        let started = Instant::now();
        let output = command.output().context("starting a command")?;
        self.times.push(started.elapsed().as_secs_f64());
        let complaint = || String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "a command failed: {}", complaint());
        let told: Value = serde_json::from_slice(&output.stdout).context("it prints JSON")?;
        self.listed = told["sessions"].as_array().map_or(0, Vec::len);
        Ok(())
    }
}
