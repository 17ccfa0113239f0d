//! `cargo xtask bench store`: yabby's stores beside the reference's, in one run, in turns.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::machine;
use super::report::{self, Row, Target, median, per_second, seconds, times};
use crate::peer::Peer;
use crate::program::Build;
use crate::reference::{self, Reference};
use crate::worker::Worker;

const SIZES: [usize; 3] = [10, 1000, 10_000];
const WRITERS: [usize; 2] = [1, 64];

pub fn store() -> Result<()> {
    let reference = Reference::installed()?;
    let worker = Worker::build(Build::Optimised)?;
    // Not in the folder for temporary files, which may be no disk.
    let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(reference::cache()?)?;
    let bench = Bench { worker: &worker, reference: &reference, folder: folder.path() };
    let (disk, beside_the_disk) = bench.beside_the_disk()?;
    let rows = [bench.updates()?, beside_the_disk, bench.appends()?, bench.contexts()?, bench.previews()?];
    let rows: Vec<Row> = rows.into_iter().flatten().collect();
    let table = report::table(&rows);
    let section = format!(
        "\n## Sessions and transcripts\n\n{} Its own append of a line and `fdatasync`: {}.\nyabby {} beside OpenClaw {} \
         on Node {}, {}.\n\n{EXPLANATION}\n\n{table}",
        machine::describe(folder.path())? + ".",
        seconds(disk),
        machine::version()?,
        reference::OPENCLAW,
        reference.node_version()?.trim_start_matches('v'),
        machine::today()?,
    );
    report::publish("store", &section)?;
    println!("{table}\nwritten to docs/benchmarks.md");
    let missed = rows.iter().filter(|row| matches!(row.target, Target::Wanted { is_met: false, .. })).count();
    if missed > 0 {
        println!("{missed} targets were missed");
    }
    Ok(())
}

const EXPLANATION: &str = "\
yabby's updates and appends are on the disk when they are acknowledged; OpenClaw syncs nothing. One writer: the \
median\nof its updates. 64 writers: the time that all took, by the number of updates that were made; OpenClaw's \
writers give up\nafter 10 s. Transcripts are opened by a new process, timed from its start to its end.";

struct Bench<'b> {
    worker: &'b Worker,
    reference: &'b Reference,
    folder: &'b Path,
}

/// A size of a store, and what was measured with it.
struct Size {
    sessions: usize,
    folder: PathBuf,
    yabby: Measured,
    openclaw: Measured,
}

impl Size {
    fn store(&self, who: &str) -> PathBuf {
        self.folder.join(who).join("sessions.json")
    }

    fn errand(&self, who: &str, writers: usize, count: usize) -> Value {
        let keys: Vec<String> =
            (0..self.sessions).map(|number| format!("agent:main:telegram:dm:{number}")).collect();
        json!({ "do": "updates", "store": self.store(who), "keys": keys, "writers": writers, "count": count })
    }
}

/// One side's updates or appends.
struct Measured {
    wall: f64,
    times: Vec<f64>,
    refused: u64,
}

impl Bench<'_> {
    fn yabby(&self) -> Result<Peer> {
        self.worker.serve()
    }

    fn openclaw(&self) -> Result<Peer> {
        Peer::start("OpenClaw", &mut self.reference.script(&script(), self.folder))
    }

    fn make(&self, words: &[&str]) -> Result<()> {
        let status = self.worker.command(words).status()?;
        ensure!(status.success(), "the worker could not {words:?}");
        Ok(())
    }

    /// Updates of a store, by its size and the number of writers.
    fn updates(&self) -> Result<Vec<Row>> {
        let (mut yabby, mut openclaw) = (self.yabby()?, self.openclaw()?);
        let mut rows = Vec::new();
        let mut shared = None;
        for writers in WRITERS {
            let sizes = self.updates_by(writers, &mut yabby, &mut openclaw)?;
            let mut costs = Vec::new();
            for Size { sessions, yabby, openclaw, .. } in &sizes {
                let (ours, theirs) = (yabby.cost(writers), openclaw.cost(writers));
                costs.push((ours, theirs));
                let target = match sessions {
                    10_000 => Target::wanted("≥ 50 × cheaper", theirs / ours >= 50.0),
                    _ => Target::None,
                };
                rows.push(Row {
                    what: format!("update, {sessions} sessions, {}", by(writers)),
                    yabby: seconds(ours),
                    reference: seconds(theirs) + &openclaw.given_up(),
                    ratio: times(theirs / ours),
                    target,
                });
            }
            if let [(ours, theirs), .., (our_last, their_last)] = costs[..] {
                let (grown, theirs) = (our_last / ours, their_last / theirs);
                rows.push(Row {
                    what: format!("grows from 10 to 10000 sessions, {}", by(writers)),
                    yabby: times(grown),
                    reference: times(theirs),
                    ratio: String::new(),
                    target: Target::wanted("< 2 ×", grown < 2.0),
                });
            }
            shared = sizes.into_iter().find(|size| size.sessions == 1000);
        }
        yabby.end()?;
        openclaw.end()?;
        rows.extend(shared.map(|Size { yabby, openclaw, .. }| Row {
            what: "updates of one store of 1000 sessions, 64 writers".to_owned(),
            yabby: per_second(yabby.rate()),
            reference: per_second(openclaw.rate()),
            ratio: times(yabby.rate() / openclaw.rate()),
            target: Target::None,
        }));
        Ok(rows)
    }

    /// All sizes by one program, then all by the other, several times over: so each size meets the same
    /// disk.
    fn updates_by(&self, writers: usize, yabby: &mut Peer, openclaw: &mut Peer) -> Result<Vec<Size>> {
        const ROUNDS: usize = 3;
        let mut sizes = Vec::new();
        for sessions in SIZES {
            let folder = self.folder.join(format!("updates-{sessions}-{writers}"));
            let size = Size { sessions, folder, yabby: Measured::none(), openclaw: Measured::none() };
            for who in ["yabby", "openclaw"] {
                std::fs::create_dir_all(size.folder.join(who))?;
                self.make(&["make-store", &size.store(who).to_string_lossy(), &sessions.to_string()])?;
            }
            sizes.push(size);
        }
        for _ in 0..ROUNDS {
            for size in &mut sizes {
                settle()?;
                let count = if writers == 1 { 300 } else { 40 };
                size.yabby.add(&yabby.ask(&size.errand("yabby", writers, count))?);
                yabby.ask(&json!({ "do": "close", "store": size.store("yabby") }))?;
            }
            for size in &mut sizes {
                // What takes it seconds is not done often.
                let count = match (size.sessions, writers) {
                    (10, 1) => 50,
                    (1000, 1) => 3,
                    (10, _) => 2,
                    _ => 1,
                };
                size.openclaw.add(&openclaw.ask(&size.errand("openclaw", writers, count))?);
            }
        }
        Ok(sizes)
    }

    /// One writer beside the disk itself; what the disk takes, and rows.
    fn beside_the_disk(&self) -> Result<(f64, Vec<Row>)> {
        let folder = self.folder.join("beside-the-disk");
        std::fs::create_dir_all(&folder)?;
        self.make(&["make-store", &folder.join("sessions.json").to_string_lossy(), "10"])?;
        let keys: Vec<String> = (0..10).map(|number| format!("agent:main:telegram:dm:{number}")).collect();
        let mut yabby = self.yabby()?;
        settle()?;
        let errand = json!({ "do": "besideTheDisk", "folder": folder, "keys": keys, "count": 1000, "message": message() });
        let answer = yabby.ask(&errand)?;
        yabby.end()?;
        let of = |what: &str| median(numbers(&answer[what]));
        let disk = of("disk");
        let row = |what: &str, time: f64| Row {
            what: format!("{what}, beside the disk's own {}", seconds(disk)),
            yabby: seconds(time),
            reference: String::new(),
            ratio: times(time / disk),
            target: Target::wanted("≤ 1.3 × the disk's", time / disk <= 1.3),
        };
        let rows =
            vec![row("append to a transcript", of("appends")), row("update of the store", of("updates"))];
        Ok((disk, rows))
    }

    /// Throughput of appends.
    fn appends(&self) -> Result<Vec<Row>> {
        let folder = self.folder.join("appends");
        std::fs::create_dir_all(&folder)?;
        let (mut yabby, mut openclaw) = (self.yabby()?, self.openclaw()?);
        let mut rows = Vec::new();
        for (writers, count) in [(1, 500), (64, 50)] {
            let (mut ours, mut theirs) = (Measured::none(), Measured::none());
            for round in 0..3 {
                let folder = folder.join(format!("{writers}-{round}"));
                std::fs::create_dir_all(&folder)?;
                settle()?;
                let errand = json!({ "do": "appends", "folder": folder, "writers": writers, "count": count, "message": message() });
                ours.add(&yabby.ask(&errand)?);
                theirs.add(&openclaw.ask(&errand)?);
            }
            rows.push(Row {
                what: format!("appends to transcripts, {} (OpenClaw's unsynced)", by(writers)),
                yabby: per_second(ours.rate()),
                reference: per_second(theirs.rate()),
                ratio: times(ours.rate() / theirs.rate()),
                target: Target::None,
            });
        }
        yabby.end()?;
        openclaw.end()?;
        Ok(rows)
    }

    /// Opening a long transcript and building its context.
    fn contexts(&self) -> Result<Vec<Row>> {
        const ROUNDS: usize = 5;
        let mut rows = Vec::new();
        for (shape, what, factor) in
            [("compacted", "500 entries in context", 20.0), ("whole", "all of it in context", 5.0)]
        {
            let file = self.folder.join(format!("{shape}.jsonl"));
            self.make(&["make-transcript", &file.to_string_lossy(), "200000", shape])?;
            let (mut ours, mut theirs) = (Openings::default(), Openings::default());
            for _ in 0..ROUNDS {
                let mut command = reference::isolated(self.worker.path());
                ours.add(command.arg("context").arg(&file))?;
                let mut command = self.reference.script(&script(), self.folder);
                theirs.add(command.env("BENCH_CONTEXT", &file))?;
            }
            ensure!(ours.told == theirs.told, "the contexts differ: {} and {}", ours.told, theirs.told);
            let size = report::bytes(std::fs::metadata(&file)?.len() as f64);
            let (our_time, their_time) = (median(ours.times), median(theirs.times));
            rows.push(Row {
                what: format!("open + context of {size}, 200000 entries, {what}"),
                yabby: seconds(our_time),
                reference: seconds(their_time),
                ratio: times(their_time / our_time),
                target: Target::wanted(&format!("≥ {factor} × faster"), their_time / our_time >= factor),
            });
            let (ours, theirs) = (median(ours.memory), median(theirs.memory));
            rows.push(Row {
                what: format!("the same, peak memory, {what}"),
                yabby: report::bytes(ours),
                reference: report::bytes(theirs),
                ratio: times(theirs / ours),
                target: Target::wanted("≤ ¼", ours * 4.0 <= theirs),
            });
        }
        Ok(rows)
    }

    /// What a list of sessions shows of a long transcript.
    fn previews(&self) -> Result<Vec<Row>> {
        let file = self.folder.join("whole.jsonl");
        let (mut yabby, mut openclaw) = (self.yabby()?, self.openclaw()?);
        let errand = json!({ "do": "preview", "file": file, "session": "whole", "rounds": 50 });
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            ours.extend(numbers(&yabby.ask(&errand)?["times"]));
            theirs.extend(numbers(&openclaw.ask(&errand)?["times"]));
        }
        yabby.end()?;
        openclaw.end()?;
        let (ours, theirs) = (median(ours), median(theirs));
        Ok(vec![Row {
            what: "preview and title of the same file".to_owned(),
            yabby: seconds(ours),
            reference: seconds(theirs),
            ratio: times(theirs / ours),
            target: Target::wanted("< 5 ms", ours < 5e-3),
        }])
    }
}

/// What several new processes took, and what they said.
#[derive(Default)]
struct Openings {
    times: Vec<f64>,
    memory: Vec<f64>,
    told: String,
}

impl Openings {
    fn add(&mut self, command: &mut Command) -> Result<()> {
        let started = Instant::now();
        let output = command.output().context("starting a reader")?;
        self.times.push(started.elapsed().as_secs_f64());
        ensure!(output.status.success(), "a reader failed: {}", String::from_utf8_lossy(&output.stderr));
        let told: Value = serde_json::from_slice(&output.stdout)?;
        self.memory.push(told["peakMemory"].as_f64().context("it tells its memory")?);
        self.told = format!("{} messages, {} characters", told["messages"], told["characters"]);
        Ok(())
    }
}

impl Measured {
    fn none() -> Self {
        Self { wall: 0.0, times: Vec::new(), refused: 0 }
    }

    fn add(&mut self, answer: &Value) {
        self.wall += answer["wall"].as_f64().unwrap_or(f64::NAN);
        self.times.extend(numbers(&answer["times"]));
        self.refused += answer["refused"].as_u64().unwrap_or_default();
    }

    /// Of one update.
    fn cost(&self, writers: usize) -> f64 {
        if writers == 1 { median(self.times.clone()) } else { 1.0 / self.rate() }
    }

    fn given_up(&self) -> String {
        match self.refused {
            0 => String::new(),
            refused => format!(" ({refused} of {} gave up)", self.times.len() as u64 + refused),
        }
    }

    fn rate(&self) -> f64 {
        self.times.len() as f64 / self.wall
    }
}

/// Writes what others left unwritten, and lets them come to rest: it is not our sync that should wait for
/// them.
fn settle() -> Result<()> {
    const REST: Duration = Duration::from_secs(1);
    let status = Command::new("sync").status().context("running sync")?;
    ensure!(status.success(), "sync ended with {status}");
    std::thread::sleep(REST);
    Ok(())
}

fn by(writers: usize) -> String {
    if writers == 1 { "1 writer".to_owned() } else { format!("{writers} writers") }
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/reference_store.mjs")
}

/// An answer of ordinary length.
fn message() -> Value {
    let text = "It was quiet in the kitchen after lunch, and nobody had noticed that the window was open. "
        .repeat(3);
    let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
    json!({
        "role": "assistant", "content": [{ "type": "text", "text": text }], "api": "anthropic-messages",
        "provider": "anthropic", "model": "claude-opus-4-5",
        "usage": { "input": 10, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 30, "cost": cost },
        "stopReason": "stop", "timestamp": 1_768_469_400_000_u64,
    })
}
