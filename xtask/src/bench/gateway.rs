//! `cargo xtask bench gateway`: our gateway beside the real one, asked by the same clients over the same protocol.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::machine;
use super::models::Form;
use super::report::{self, Row, Target, bytes, median, per_second, seconds, times};
use crate::program::{Build, built, yabby};
use crate::reference::{self, Reference};

/// A store, and how much is asked of it: of ours, and of the reference, which takes minutes with many sessions.
struct Size {
    sessions: usize,
    ours: Errands,
    theirs: Errands,
}

#[derive(Clone, Copy)]
struct Errands {
    starts: usize,
    settle_ms: u64,
    lists: usize,
    whole_lists: usize,
    many_lists: usize,
    turns: usize,
    at_once: usize,
    clients: usize,
}

/// How often all clients are told something.
const BROADCASTS: usize = 10;
const CLIENTS: usize = 1000;
/// How many sessions talk at once; the smallest store has as many.
const TALKING: usize = 8;

fn sizes(form: Form) -> Vec<Size> {
    let errands = |starts, lists, whole_lists, many_lists, turns, at_once| Errands {
        starts,
        settle_ms: 3000,
        lists,
        whole_lists,
        many_lists,
        turns,
        at_once,
        clients: 0,
    };
    // A turn costs more the longer its conversation is, so that both have as many where that can be waited for.
    let ours = |whole_lists| errands(9, 500, whole_lists, 20_000, 20, 80);
    match form {
        Form::Whole => vec![
            Size {
                sessions: 10,
                ours: Errands { clients: CLIENTS, ..ours(100) },
                theirs: Errands { clients: CLIENTS, ..errands(3, 100, 20, 2000, 20, 80) },
            },
            Size { sessions: 1000, ours: ours(50), theirs: errands(3, 30, 10, 100, 5, 16) },
            Size { sessions: 10_000, ours: ours(20), theirs: errands(3, 10, 5, 16, 2, 0) },
        ],
        Form::Short => {
            let few = Errands { settle_ms: 200, clients: 20, ..errands(2, 5, 2, 32, 3, 16) };
            vec![Size { sessions: 10, ours: few, theirs: Errands { starts: 1, ..few } }]
        }
    }
}

pub fn gateway(form: Form) -> Result<()> {
    let reference = Reference::installed()?;
    let bench = Bench {
        worker: built("yabby-testkit", "gateway_worker", Build::Optimised)?,
        maker: built("yabby-testkit", "store_worker", Build::Optimised)?,
        yabby: yabby(Build::Shipped)?,
        folder: tempfile::Builder::new().prefix("bench-").tempdir_in(reference::cache()?)?,
        reference,
    };
    let busy = load()?;
    let mut all = Vec::new();
    for size in sizes(form) {
        let ours = bench.ours(&size)?;
        let theirs = bench.theirs(&size)?;
        println!("{} sessions are measured", size.sessions);
        all.push(Pair { sessions: size.sessions, ours, theirs });
    }
    let table = report::table(&rows(&all)?);
    if form == Form::Short {
        println!("{table}\nnothing is written: this was the short form");
        return Ok(());
    }
    let section = format!(
        "\n## The gateway\n\n{}. Busy before: {busy}; after: {}.\nyabby {} beside OpenClaw {} on Node {}, {}.\n\n{EXPLANATION}\n\n{table}",
        machine::describe(bench.folder.path())?,
        load()?,
        machine::version()?,
        reference::OPENCLAW,
        bench.reference.node_version()?.trim_start_matches('v'),
        machine::today()?,
    );
    report::publish("gateway", &section)?;
    println!("{table}\nwritten to docs/benchmarks.md");
    Ok(())
}

const EXPLANATION: &str = "\
Both gateways alone on a loopback of their own, with the same configuration, stores, model and clients; model and \
clients share\none thread. A start is from the start of the process to the first `hello-ok`. Memory is what the gateway's \
processes have written to\n(anonymous, also swapped out), beside it with the pages of files such as their own code (PSS): idle three seconds after the first client came, under load the most while eight sessions talk at \
once. A turn is from the\nrequest to the end of the answer, with a model that answers at once; ours is durable. Lists are of \
the 10 newest sessions, or\nof all; since one list takes little longer than its way to the client and back, they \
are also counted with 16 always\nwanted at once. Times are medians. A broadcast is from the request that sets it off until the last of \
all clients has it.";

/// How busy the machine is with everything that runs on it, in its own words.
fn load() -> Result<String> {
    let load = fs::read_to_string("/proc/loadavg").context("reading the load")?;
    Ok(load.split(' ').take(1).collect())
}

struct Bench {
    worker: PathBuf,
    maker: PathBuf,
    yabby: PathBuf,
    folder: tempfile::TempDir,
    reference: Reference,
}

impl Bench {
    fn ours(&self, size: &Size) -> Result<Value> {
        let home = self.home("ours", size.sessions)?;
        self.measured(&home, size.ours, &[self.yabby.as_os_str(), "gateway".as_ref(), "run".as_ref()])
    }

    fn theirs(&self, size: &Size) -> Result<Value> {
        let home = self.home("theirs", size.sessions)?;
        let (node, script) = (self.reference.node(), self.reference.package().join("openclaw.mjs"));
        let words = [node.as_os_str(), script.as_os_str(), "gateway".as_ref(), "run".as_ref()];
        self.measured(&home, size.theirs, &words)
    }

    /// A home with so many sessions.
    fn home(&self, whose: &str, sessions: usize) -> Result<PathBuf> {
        let home = self.folder.path().join(format!("{whose}-{sessions}"));
        let folder = reference::state_folder(&home).join("agents/main/sessions");
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let mut maker = Command::new(&self.maker);
        let status =
            maker.arg("make-store").arg(folder.join("sessions.json")).arg(sessions.to_string()).status()?;
        ensure!(status.success(), "no store was made");
        Ok(home)
    }

    fn measured(&self, home: &Path, errands: Errands, program: &[&OsStr]) -> Result<Value> {
        let orders = json!({
            "starts": errands.starts,
            "settleMs": errands.settle_ms,
            "lists": errands.lists,
            "wholeLists": errands.whole_lists,
            "manyLists": errands.many_lists,
            "agent": errands.turns,
            "chat": errands.turns,
            "atOnce": errands.at_once,
            "talking": TALKING,
            "clients": errands.clients,
            "broadcasts": BROADCASTS,
        });
        let mut command = self.reference.with_loopback(&self.worker, home);
        command.arg(home).arg(orders.to_string()).args(program);
        let output = command.stderr(Stdio::inherit()).output().context("starting a gateway")?;
        ensure!(output.status.success(), "nothing was measured: {}", output.status);
        let text = String::from_utf8(output.stdout)?;
        serde_json::from_str(text.trim()).with_context(|| format!("it said {text}"))
    }
}

/// What was measured with a store of this size.
struct Pair {
    sessions: usize,
    ours: Value,
    theirs: Value,
}

impl Pair {
    /// Memory of one kind: anonymous, or in total.
    fn memory(&self, name: &str, kind: &str) -> Result<(f64, f64)> {
        Ok((self.ours[name].number(kind)?, self.theirs[name].number(kind)?))
    }
}

/// Something that is timed, and which part of the promise it belongs to.
struct Timed {
    name: &'static str,
    what: &'static str,
    promise: Promise,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Promise {
    Start,
    /// Twenty times faster with 10 sessions, five hundred times with 1,000, and flat.
    Work,
    Flat,
    None,
}

const TIMED: [Timed; 6] = [
    Timed { name: "starts", what: "start to the first `hello-ok`", promise: Promise::Start },
    Timed { name: "list", what: "`sessions.list` of 10", promise: Promise::Flat },
    Timed { name: "wholeList", what: "`sessions.list` of all", promise: Promise::None },
    Timed { name: "status", what: "`status`", promise: Promise::None },
    Timed { name: "agent", what: "a turn through `agent`", promise: Promise::Work },
    Timed { name: "chat", what: "a turn through `chat.send`", promise: Promise::Work },
];

fn rows(all: &[Pair]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for pair in all {
        let sessions = pair.sessions;
        for Timed { name, what, promise } in &TIMED {
            let measured = (pair.ours.times(name)?, pair.theirs.times(name)?);
            let target = |ratio| promise.of_time(sessions, ratio);
            rows.push(compared(format!("{what}, {sessions} sessions"), seconds, measured, target));
        }
        rows.push(rate_row("lists of 10, 16 at once", "listRate", pair)?);
        rows.push(rate_row("turns of eight sessions at once", "rate", pair)?);
        for (name, when) in [("idle", "idle"), ("load", "under load"), ("after", "after it")] {
            let target = |ratio| match name {
                "idle" => Target::wanted("≥ 20 × less", ratio >= 20.0),
                _ => Target::None,
            };
            let what = format!("memory {when}, {sessions} sessions");
            rows.push(compared(what, bytes, pair.memory(name, "anonymous")?, target));
            let what = format!("the same with the pages of files, {sessions} sessions");
            rows.push(compared(what, bytes, pair.memory(name, "total")?, |_| Target::None));
        }
        if !pair.ours["crowd"].is_null() {
            rows.extend(crowd_rows(pair)?);
        }
    }
    if let [least, .., most] = all {
        for Timed { name, what, .. } in
            TIMED.iter().filter(|timed| matches!(timed.promise, Promise::Work | Promise::Flat))
        {
            rows.push(growth_row(what, name, least, most)?);
        }
    }
    Ok(rows)
}

impl Promise {
    fn of_time(self, sessions: usize, ratio: f64) -> Target {
        let faster = |wanted: f64| Target::wanted(&format!("≥ {wanted:.0} × faster"), ratio >= wanted);
        match (self, sessions) {
            (Self::Start, _) => faster(50.0),
            (Self::Work, 10) => faster(20.0),
            (Self::Work, 1000) => faster(500.0),
            _ => Target::None,
        }
    }
}

fn rate_row(what: &str, name: &str, pair: &Pair) -> Result<Row> {
    let ours = pair.ours.number(name)?;
    let ratio = pair.theirs[name].as_f64().map(|theirs| ours / theirs);
    Ok(Row {
        what: format!("{what}, {} sessions", pair.sessions),
        yabby: per_second(ours),
        reference: match &pair.theirs[name] {
            Value::Null => "not measured".to_owned(),
            // It may have failed.
            theirs => theirs.as_f64().map_or_else(|| "fails".to_owned(), per_second),
        },
        ratio: ratio.map(times).unwrap_or_default(),
        target: ratio.map_or(Target::None, |ratio| Promise::Work.of_time(pair.sessions, ratio)),
    })
}

fn crowd_rows(pair: &Pair) -> Result<Vec<Row>> {
    let (ours, theirs) = (&pair.ours["crowd"], &pair.theirs["crowd"]);
    let row = |what: &str, written: fn(f64) -> String, measured| {
        compared(what.to_owned(), written, measured, |_| Target::None)
    };
    Ok(vec![
        row("all clients connect", seconds, (ours.number("connecting")?, theirs.number("connecting")?)),
        row(
            "memory with all clients",
            bytes,
            (ours["memory"].number("anonymous")?, theirs["memory"].number("anonymous")?),
        ),
        row("a broadcast to all clients", seconds, (ours.times("broadcasts")?, theirs.times("broadcasts")?)),
    ])
}

/// What was measured of both, where less is better; what is wanted depends on how many times less ours is.
fn compared(
    what: String,
    written: fn(f64) -> String,
    (ours, theirs): (f64, f64),
    target: impl FnOnce(f64) -> Target,
) -> Row {
    let ratio = theirs / ours;
    Row { what, yabby: written(ours), reference: written(theirs), ratio: times(ratio), target: target(ratio) }
}

fn growth_row(what: &str, name: &str, least: &Pair, most: &Pair) -> Result<Row> {
    let ours = most.ours.times(name)? / least.ours.times(name)?;
    let theirs = most.theirs.times(name)? / least.theirs.times(name)?;
    Ok(Row {
        what: format!("{what} grows from {} to {} sessions", least.sessions, most.sessions),
        yabby: times(ours),
        reference: times(theirs),
        ratio: String::new(),
        target: Target::wanted("< 1.5 ×", ours < 1.5),
    })
}

/// What a worker tells.
trait Told {
    fn number(&self, name: &str) -> Result<f64>;
    /// The median of some times.
    fn times(&self, name: &str) -> Result<f64>;
}

impl Told for Value {
    fn number(&self, name: &str) -> Result<f64> {
        self[name].as_f64().with_context(|| format!("{name} is told"))
    }

    fn times(&self, name: &str) -> Result<f64> {
        let times: Vec<f64> = self[name].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        ensure!(!times.is_empty(), "{name} was not measured");
        Ok(median(times))
    }
}
