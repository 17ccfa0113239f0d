//! `cargo xtask bench turns`: what a turn costs besides the model, beside the reference in the same run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::machine;
use super::report::{self, Row, Target, bytes, median, per_second, seconds, times};
use crate::program::{Build, built, yabby};
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
    rows.extend(Conversations::prepare(&reference, folder.path())?.rows()?);
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
The reference takes\none turn at a time here; its turns a second are those of its median.\n\
The turns of a long conversation, and those at a slow pace, go through both gateways, with a model of another process; of the \
reference\nthe conversation ends with the 240th turn. What is written is what the kernel counts for the disk.";

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

/// Turns through our gateway and the reference's: in a long conversation, and of people who take their time.
struct Conversations<'r> {
    reference: &'r Reference,
    worker: PathBuf,
    maker: PathBuf,
    yabby: PathBuf,
    folder: PathBuf,
}

/// The turns of a long conversation whose cost is read; the reference is not asked for more than can be waited for.
const MARKS: [usize; 4] = [20, 150, 500, 5000];
const REFERENCE_MARKS: [usize; 2] = [20, 240];
/// Stores, and how many turns are taken at a slow pace: of ours, and of the reference.
const PACED: [(usize, usize, usize); 3] = [(10, 30, 10), (10_000, 30, 4), (100_000, 30, 0)];
const PAUSE_MS: u64 = 2000;
/// The turns after which our memory is read, and in how many sessions they are taken.
const MEMORY_MARKS: [usize; 4] = [1000, 5000, 20_000, 50_000];
const MEMORY_SESSIONS: usize = 300;

impl<'r> Conversations<'r> {
    fn prepare(reference: &'r Reference, folder: &Path) -> Result<Self> {
        Ok(Self {
            reference,
            worker: built("yabby-testkit", "gateway_worker", Build::Optimised)?,
            maker: built("yabby-testkit", "store_worker", Build::Optimised)?,
            yabby: yabby(Build::Shipped)?,
            folder: folder.to_owned(),
        })
    }

    fn rows(&self) -> Result<Vec<Row>> {
        let mut rows = self.long_rows()?;
        rows.extend(self.memory_rows()?);
        let mut least = None;
        for (sessions, ours, theirs) in PACED {
            let paced = |turns: usize| json!({"paced": turns, "pauseMs": PAUSE_MS});
            let ours = self.measured(Whose::Ours, sessions, &paced(ours))?;
            let theirs = match theirs {
                0 => Value::Null,
                turns => self.measured(Whose::Theirs, sessions, &paced(turns))?,
            };
            let bytes_of = |told: &Value| told["paced"]["bytes"].as_f64();
            let (written, their_bytes) = (bytes_of(&ours).context("it counts bytes")?, bytes_of(&theirs));
            let grown = written / *least.get_or_insert(written);
            rows.push(row(
                format!("written a turn, one every 2 s, {sessions} sessions stored"),
                bytes(written),
                their_bytes.map(bytes).unwrap_or_default(),
                their_bytes.map(|theirs| times(theirs / written)).unwrap_or_default(),
                Target::wanted("≤ 3 × those of 10 sessions", grown <= 3.0),
            ));
            println!("{sessions} sessions at a slow pace: {} a turn", bytes(written));
        }
        Ok(rows)
    }

    fn long_rows(&self) -> Result<Vec<Row>> {
        let costs = |told: &Value| -> Vec<f64> {
            told["longConversation"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
        };
        let ours = costs(&self.measured(Whose::Ours, 10, &json!({"longConversation": MARKS}))?);
        let theirs =
            costs(&self.measured(Whose::Theirs, 10, &json!({"longConversation": REFERENCE_MARKS}))?);
        ensure!(ours.len() == MARKS.len() && theirs.len() == REFERENCE_MARKS.len(), "turns are missing");
        let their_cost = |mark: usize| {
            let at = REFERENCE_MARKS.iter().rposition(|known| *known <= mark);
            at.and_then(|at| theirs.get(at)).copied().unwrap_or(f64::NAN)
        };
        let rows = MARKS.iter().zip(&ours).map(|(mark, cost)| {
            let grown = cost / ours[0];
            let target = match mark {
                500 => Target::wanted("≤ 1.5 × the 20th", grown <= 1.5),
                5000 => Target::wanted("≤ 2.5 × the 20th", grown <= 2.5),
                _ => Target::None,
            };
            let what = format!("processor time of a turn, the {mark}th of a conversation");
            let theirs = their_cost(*mark);
            row(what, seconds(*cost), seconds(theirs), times(theirs / cost), target)
        });
        Ok(rows.collect())
    }

    /// Whether memory stays where it is while turns are taken.
    fn memory_rows(&self) -> Result<Vec<Row>> {
        let orders = json!({"memoryMarks": MEMORY_MARKS, "memorySessions": MEMORY_SESSIONS});
        let told = self.measured(Whose::Ours, 10, &orders)?;
        let memory =
            |at: usize, kind: &str| told["memoryGrowth"][at][kind].as_f64().context("it tells its memory");
        let base = memory(1, "anonymous")?;
        let mut rows = Vec::new();
        for (at, mark) in MEMORY_MARKS.into_iter().enumerate() {
            let anonymous = memory(at, "anonymous")?;
            let grown = anonymous / base;
            let target = match mark {
                50_000 => Target::wanted("within 10 % of the 5000th", (0.9..=1.1).contains(&grown)),
                _ => Target::None,
            };
            let what = format!("memory after {mark} turns in {MEMORY_SESSIONS} sessions");
            rows.push(row(what, bytes(anonymous), String::new(), String::new(), target));
            let what = format!("the same with the pages of files, after {mark} turns");
            rows.push(row(what, bytes(memory(at, "total")?), String::new(), String::new(), Target::None));
        }
        Ok(rows)
    }

    fn measured(&self, whose: Whose, sessions: usize, more: &Value) -> Result<Value> {
        let home = tempfile::Builder::new().prefix("home-").tempdir_in(&self.folder)?.keep();
        make_store(&self.maker, &reference::state_folder(&home).join("agents/main/sessions"), sessions)?;
        let mut orders = json!({
            "starts": 1, "settleMs": 1000, "lists": 0, "wholeLists": 0, "manyLists": 0, "agent": 0, "chat": 0,
            "atOnce": 0, "talking": 0, "clients": 0, "broadcasts": 0,
        });
        if let (Some(orders), Some(more)) = (orders.as_object_mut(), more.as_object()) {
            orders.extend(more.clone());
        }
        let mut command = self.reference.with_loopback(&self.worker, &home);
        command.arg(&home).arg(orders.to_string());
        match whose {
            Whose::Ours => command.arg(&self.yabby),
            Whose::Theirs => {
                command.arg(self.reference.node()).arg(self.reference.package().join("openclaw.mjs"))
            }
        };
        told(command.args(["gateway", "run"]))
    }
}

#[derive(Clone, Copy, Debug)]
enum Whose {
    Ours,
    Theirs,
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
