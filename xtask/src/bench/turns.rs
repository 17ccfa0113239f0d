//! `cargo xtask bench turns`: what a turn costs besides the model, beside the reference in the same run.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::machine;
use super::report::{self, Row, Target, median, per_second, seconds, times};
use crate::program::{Build, built};
use crate::reference::{self, Reference};

const SIZES: [usize; 3] = [10, 1000, 10_000];
/// Turns that are measured with each size, one after the other: of ours, and of the reference, which takes
/// minutes with many sessions.
const TURNS: usize = 100;
const REFERENCE_TURNS: [usize; 3] = [20, 8, 3];
const PARALLEL: usize = 64;
const TURNS_IN_PARALLEL: usize = 40;

pub fn turns() -> Result<()> {
    let reference = Reference::installed()?;
    let worker = built("yabby-testkit", "turn_worker", Build::Optimised)?;
    let maker = built("yabby-testkit", "store_worker", Build::Optimised)?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(reference::cache()?)?;
    let mut rows = Vec::new();
    let (mut medians, mut rates) = (Vec::new(), Vec::new());
    for (sessions, reference_turns) in SIZES.into_iter().zip(REFERENCE_TURNS) {
        let here = folder.path().join(sessions.to_string());
        let ours = Measured::of(&worker, &maker, &here.join("one"), sessions, 1, TURNS)?;
        let many = Measured::of(&worker, &maker, &here.join("many"), sessions, PARALLEL, TURNS_IN_PARALLEL)?;
        let theirs = reference_times(&reference, &maker, &here.join("reference"), sessions, reference_turns)?;
        let (our_median, their_median) = (median(ours.times.clone()), median(theirs));
        let ratio = their_median / our_median;
        let target = match sessions {
            10 => Target::wanted("≥ 20 × cheaper", ratio >= 20.0),
            1000 => Target::wanted("≥ 500 × cheaper", ratio >= 500.0),
            _ => Target::None,
        };
        rows.push(row(
            format!("turn, {sessions} sessions stored, median"),
            seconds(our_median),
            seconds(their_median),
            times(ratio),
            target,
        ));
        rows.push(row(
            format!("turn, {sessions} sessions stored, 99th percentile"),
            seconds(percentile(ours.times.clone(), 0.99)),
            String::new(),
            String::new(),
            Target::None,
        ));
        rows.push(row(
            format!("turns in {PARALLEL} sessions at once, {sessions} stored"),
            per_second(many.rate()),
            per_second(1.0 / their_median),
            times(many.rate() * their_median),
            Target::None,
        ));
        rows.push(row(
            format!("syncs a turn, {sessions} sessions stored"),
            format!("{:.2}", ours.syncs),
            "0".to_owned(),
            String::new(),
            Target::wanted("≤ 4", ours.syncs <= 4.0),
        ));
        medians.push(our_median);
        rates.push(many.rate());
        println!("{sessions} sessions: {} beside {}", seconds(our_median), seconds(their_median));
    }
    let grown = medians[2] / medians[0];
    rows.push(row(
        "grows from 10 to 10000 sessions".to_owned(),
        times(grown),
        String::new(),
        String::new(),
        Target::wanted("< 1.5 ×", grown < 1.5),
    ));
    let instructions = instructions(&worker, &maker, &folder.path().join("instructions"))?;
    rows.push(row(
        "instructions a turn, 1000 sessions stored".to_owned(),
        format!("{:.2} million", instructions / 1e6),
        String::new(),
        String::new(),
        Target::None,
    ));
    let table = report::table(&rows);
    let section = format!(
        "\n## Turns\n\n{}.\nyabby {} beside OpenClaw {} on Node {}, {}.\n\n{EXPLANATION}\n\n{table}",
        machine::describe(folder.path())?,
        machine::version()?,
        reference::OPENCLAW,
        reference.node_version()?.trim_start_matches('v'),
        machine::today()?,
    );
    report::publish("turns", &section)?;
    println!("{table}\nwritten to docs/benchmarks.md");
    Ok(())
}

const EXPLANATION: &str = "\
From the message to the reply, with a model that answers at once: ours in the process, the reference's a server on \
loopback\nbehind its gateway. Ours is durable: the message, the session and the transcript are synced. \
The reference takes\none turn at a time here; its turns a second are those of its median.";

fn row(what: String, yabby: String, reference: String, ratio: String, target: Target) -> Row {
    Row { what, yabby, reference, ratio, target }
}

struct Measured {
    times: Vec<f64>,
    whole: f64,
    syncs: f64,
}

impl Measured {
    fn of(
        worker: &Path,
        maker: &Path,
        folder: &Path,
        sessions: usize,
        parallel: usize,
        turns: usize,
    ) -> Result<Self> {
        make_store(maker, &folder.join("state/agents/main/sessions"), sessions)?;
        let told = told(&mut measure(worker, folder, sessions, parallel, turns))?;
        let syncs = told["syncs"].as_f64().context("it counts syncs")?;
        let whole = told["whole"].as_f64().context("it tells the time of all")?;
        Ok(Self { times: times_in(&told), whole, syncs })
    }

    fn rate(&self) -> f64 {
        self.times.len() as f64 / self.whole
    }
}

fn measure(worker: &Path, folder: &Path, sessions: usize, parallel: usize, turns: usize) -> Command {
    let mut command = Command::new(worker);
    command.arg("measure").arg(folder).args([sessions, parallel, turns].map(|number| number.to_string()));
    command
}

fn make_store(maker: &Path, folder: &Path, sessions: usize) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let store = folder.join("sessions.json");
    let status = Command::new(maker).arg("make-store").arg(store).arg(sessions.to_string()).status()?;
    ensure!(status.success(), "no store was made");
    Ok(())
}

fn told(command: &mut Command) -> Result<Value> {
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("starting {command:?}"))?;
    ensure!(output.status.success(), "{command:?} ended with {}", output.status);
    let line = String::from_utf8(output.stdout)?;
    let line = line.lines().last().context("it says something")?;
    serde_json::from_str(line).with_context(|| format!("it said {line}"))
}

fn times_in(told: &Value) -> Vec<f64> {
    told["times"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn percentile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get(((values.len() as f64 * share) as usize).min(last)).copied().unwrap_or(f64::NAN)
}

fn reference_times(
    reference: &Reference,
    maker: &Path,
    home: &Path,
    sessions: usize,
    turns: usize,
) -> Result<Vec<f64>> {
    make_store(maker, &reference::state_folder(home).join("agents/main/sessions"), sessions)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/reference_turns.mjs");
    let mut command = reference.script_with_loopback(&script, home);
    command.arg(home).args([sessions, turns].map(|number| number.to_string()));
    let times = times_in(&told(&mut command)?);
    ensure!(times.len() == turns, "the reference took {} of {turns} turns", times.len());
    Ok(times)
}

/// Instructions that one more turn takes, counted by valgrind: they do not depend on what else the machine
/// is doing.
fn instructions(worker: &Path, maker: &Path, folder: &Path) -> Result<f64> {
    const FEW: usize = 20;
    let count = |name: &str, turns: usize| -> Result<f64> {
        let folder = folder.join(name);
        make_store(maker, &folder.join("state/agents/main/sessions"), 1000)?;
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(worker);
        command.arg("measure").arg(&folder).args([1000, 1, turns].map(|number| number.to_string()));
        let output = command.output().context("starting valgrind; install it to count instructions")?;
        ensure!(output.status.success(), "valgrind ended with {}", output.status);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = told.lines().find_map(|line| line.split_once("Collected :")).context("valgrind counts")?;
        line.1.trim().parse().with_context(|| format!("valgrind counted {}", line.1))
    };
    Ok((count("more", FEW * 3)? - count("few", FEW)?) / (FEW * 2) as f64)
}
