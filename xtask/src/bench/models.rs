//! `cargo xtask bench models`: what it costs to listen to a model.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::machine;
use super::report::{self, Row, Target, seconds, times};
use crate::program::cargo;
use crate::reference::{self, Reference};

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Whole,
    /// To see that it works.
    Short,
}

impl Form {
    fn reference_answers(self) -> usize {
        match self {
            Self::Whole => 300,
            Self::Short => 10,
        }
    }
}

pub fn models(form: Form) -> Result<()> {
    let reference = Reference::installed()?;
    let told = measured(form)?;
    let theirs = delays(&reference_told(&reference, form)?)?;
    let mut rows = Vec::new();
    for (part, what) in [
        ("bare first", "a bare socket"),
        ("provider first", "the provider"),
        ("engine first", "the whole engine"),
    ] {
        let ours = delays(&told[part])?;
        for (name, share) in [("median", 0.5), ("99th percentile", 0.99)] {
            let (delay, their_delay) = (at_share(&ours, share), at_share(&theirs, share));
            let mut row = row(format!("first word through {what}, {name}"), seconds(delay));
            if part == "engine first" {
                row.reference = seconds(their_delay);
                row.ratio = times(their_delay / delay);
            }
            rows.push(row);
        }
    }
    for (part, what) in [("provider long", "the provider"), ("engine long", "the whole engine")] {
        let number = |name: &str| told[part][name].as_f64().with_context(|| format!("{name} is told"));
        let processor = number("processor")?;
        let of_text = seconds(processor / (number("text")? / 1e6));
        let of_wire = seconds(processor / (number("wire")? / 1e6));
        rows.push(row(format!("processor time a megabyte of text, {what}"), of_text));
        rows.push(row(format!("processor time a megabyte on the wire, {what}"), of_wire));
        rows.push(row(
            format!("most memory during an answer of {:.0} MB, {what}", number("text")? / 1e6),
            report::bytes(number("memory")?),
        ));
    }
    let table = report::table(&rows);
    if form == Form::Short {
        println!("{table}\nnothing is written: this was the short form");
        return Ok(());
    }
    let section = format!(
        "\n## Models\n\n{}.\nyabby {} beside OpenClaw {} on Node {}, {}.\n\n{EXPLANATION}\n\n{table}",
        machine::describe(".".as_ref())?,
        machine::version()?,
        reference::OPENCLAW,
        reference.node_version()?.trim_start_matches('v'),
        machine::today()?,
    );
    report::publish("models", &section)?;
    println!("{table}\nwritten to docs/benchmarks.md");
    Ok(())
}

const EXPLANATION: &str = "\
A service on loopback that speaks OpenAI's chat format, in a process of its own. The delay is from its sending of the \
first\nword to whoever listens hearing it; that of a bare socket is the machine's. The long answer comes in pieces of 20 \
letters,\nas services send them, with eight times as much around them on the wire. Memory is what is used beyond what there \
was\nbefore the answer; the answer itself is a part of it. The reference's first word is heard among the events of its \
gateway,\nwhich is asked over a socket; ours among the events of the engine, in the process.";

/// What the benchmark tells; it lives in the crate that it measures.
fn measured(form: Form) -> Result<Value> {
    let mut bench = cargo();
    bench.args(["bench", "--quiet", "--locked", "-p", "yabby-models", "--bench", "models"]);
    if form == Form::Short {
        bench.args(["--", "short"]);
    }
    last_line(&mut bench)
}

fn reference_told(reference: &Reference, form: Form) -> Result<Value> {
    let home = tempfile::Builder::new().prefix("bench-").tempdir_in(reference::cache()?)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/reference_models.mjs");
    let mut command = reference.script_with_loopback(&script, home.path());
    command.arg(home.path()).arg(form.reference_answers().to_string());
    last_line(&mut command)
}

/// The last JSON that a program prints.
fn last_line(command: &mut Command) -> Result<Value> {
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{command:?} ended with {}", output.status);
    let text = String::from_utf8(output.stdout)?;
    let line = text.lines().rev().find(|line| line.starts_with('{')).context("it tells what it measured")?;
    Ok(serde_json::from_str(line)?)
}

/// In their order.
fn delays(told: &Value) -> Result<Vec<f64>> {
    let mut delays: Vec<f64> =
        told["delays"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    delays.sort_by(f64::total_cmp);
    ensure!(!delays.is_empty(), "delays are told");
    Ok(delays)
}

fn at_share(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share) as usize;
    sorted.get(at).or(sorted.last()).copied().unwrap_or(f64::NAN)
}

fn row(what: String, yabby: String) -> Row {
    Row { what, yabby, reference: String::new(), ratio: String::new(), target: Target::None }
}
