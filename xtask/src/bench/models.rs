//! `cargo xtask bench models`: what it costs to listen to a model.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::machine;
use super::report::{self, Row, Target, seconds};

pub fn models() -> Result<()> {
    // It lives in the crate that it measures.
    let output = Command::new(env!("CARGO"))
        .args(["bench", "--quiet", "--locked", "-p", "yabby-models", "--bench", "models"])
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the benchmark ended with {}", output.status);
    let text = String::from_utf8(output.stdout)?;
    let line = text.lines().rev().find(|line| line.starts_with('{')).context("it tells what it measured")?;
    let told: Value = serde_json::from_str(line)?;
    let mut rows = Vec::new();
    for (part, what) in [
        ("bare first", "a bare socket"),
        ("provider first", "the provider"),
        ("engine first", "the whole engine"),
    ] {
        let mut delays: Vec<f64> =
            told[part]["delays"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        delays.sort_by(f64::total_cmp);
        for (name, share) in [("median", 0.5), ("99th percentile", 0.99)] {
            let at = (delays.len() as f64 * share) as usize;
            let delay = delays.get(at).copied().context("delays are told")?;
            rows.push(row(format!("first word through {what}, {name}"), seconds(delay)));
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
            format!("most memory during an answer of 10 MB, {what}"),
            report::bytes(number("memory")?),
        ));
    }
    let table = report::table(&rows);
    let section = format!(
        "\n## Models\n\n{}.\nyabby {}, {}.\n\n{EXPLANATION}\n\n{table}",
        machine::describe(".".as_ref())?,
        machine::version()?,
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
was\nbefore the answer; the answer itself is a part of it.";

fn row(what: String, yabby: String) -> Row {
    Row { what, yabby, reference: String::new(), ratio: String::new(), target: Target::None }
}
