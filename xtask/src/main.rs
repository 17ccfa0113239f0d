//! `cargo xtask …`: automation that is not part of the product.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]

mod bench;
mod crash;
mod dice;
mod fuzz;
mod interop;
mod judge;
mod live;
mod measure;
mod peer;
mod program;
mod ratchet;
mod real_claude;
mod real_systemd;
mod reference;
mod room;
mod snapshot;
mod sources;
mod vectors;
mod worker;

use std::process::ExitCode;

use bench::Form;
use measure::Print;

const USAGE: &str = "usage: cargo xtask <task>

tasks:
  vectors [DIR]   copy the recorded cases from DIR (../shared/vectors) to vectors/
  ratchet [--lower]
                  run the recorded cases and write how many pass, which the tests hold them to; fewer than before
                  only with --lower
  measure [--json|--details|--write]
                  figures of the source: rings of modules, untyped signatures, dependencies, sizes; with
                  --details what each consists of, with --write into docs/benchmarks.md
  bench rules     nanoseconds per rule: keys, freshness, routing, context, payloads
  bench store     sessions and transcripts beside the real OpenClaw; writes docs/benchmarks.md
  bench cli       commands beside the real OpenClaw; writes docs/benchmarks.md
  bench turns     what a turn costs, beside the real OpenClaw; writes docs/benchmarks.md
  bench models [--short]
                  what it costs to listen to a model, beside the real OpenClaw; writes docs/benchmarks.md;
                  the short form measures little and writes nothing
  bench gateway [--short]
                  starts, turns, lists, memory and many clients, beside the real OpenClaw, which takes long with
                  many sessions; writes docs/benchmarks.md; the short form measures little and writes nothing
  bench memory [--short]
                  indexing and searching what is remembered, beside the real OpenClaw, which takes long with
                  many notes; writes docs/benchmarks.md; the short form measures little and writes nothing
  bench locomo [--data DIR] [--embedder none|local] --out FILE
                  what is found again of long conversations: predictions for the scorer of the data
  interop [WORDS] [--all]
                  hold yabby's files, conversations and gateway against the real OpenClaw, which is installed
                  once; with WORDS only the stories that have them in their name, with --all those as well
                  that take long
  live [PROVIDER[/MODEL]…]
                  hold a conversation with the real services that the environment has a key for
  judge-models    hold what providers are asked against the types that services publish (needs Python)
  judge-mcp       use a server of the Model Context Protocol that is written in Python, and let a client in
                  Python use ours (needs Python)
  judge-minilm    hold the model of meaning against torch's recorded answers, with the real weights (needs npm)
  judge-replay    play the recorded scenarios of the gateway against the real OpenClaw, which is installed once
  real-claude     the real claude program, installed once, with a stand-in for its service (needs npm)
  real-systemd    the gateway as a service of the real systemd, in a user manager of its own (needs root)
  crash store [--rounds N] [--seed S]
                  kill a writer at random instants, 1000 times; what it was told is safe must be there
  crash turns [--rounds N] [--seed S]
                  kill a gateway while messages stream in, 500 times; each must be answered once
  crash memory [--rounds N] [--seed S]
                  kill `memory index` at random instants, 200 times; everything must be found, and once
  fuzz TARGET [SECONDS]
                  fuzz frames, keys, store_text, transcript_lines or directives (60 seconds)";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["vectors"] => vectors::refresh("../shared/vectors".as_ref()),
        ["vectors", source] => vectors::refresh(source.as_ref()),
        ["ratchet"] => ratchet::refresh(false),
        ["ratchet", "--lower"] => ratchet::refresh(true),
        ["measure"] => measure::run(Print::Table),
        ["measure", "--json"] => measure::run(Print::Json),
        ["measure", "--details"] => measure::run(Print::Details),
        ["measure", "--write"] => measure::write(),
        ["bench", "rules"] => bench::rules(),
        ["bench", "store"] => bench::store(),
        ["bench", "cli"] => bench::cli(),
        ["bench", "turns"] => bench::turns(),
        ["bench", "models"] => bench::models(Form::Whole),
        ["bench", "models", "--short"] => bench::models(Form::Short),
        ["bench", "gateway"] => bench::gateway(Form::Whole),
        ["bench", "gateway", "--short"] => bench::gateway(Form::Short),
        ["bench", "memory"] => bench::memory(Form::Whole),
        ["bench", "memory", "--short"] => bench::memory(Form::Short),
        ["bench", "locomo", rest @ ..] => bench::locomo(rest),
        ["interop", words @ ..] => interop::run(words),
        ["live", names @ ..] => live::run(names),
        ["judge-models"] => judge::models(),
        ["judge-mcp"] => judge::mcp(),
        ["judge-minilm"] => judge::minilm(),
        ["judge-replay"] => judge::replay(),
        ["real-claude"] => real_claude::run(),
        ["real-systemd"] => real_systemd::run(),
        ["crash", "store", rest @ ..] => crash::store(rest),
        ["crash", "memory", rest @ ..] => crash::memory(rest),
        ["crash", "turns", rest @ ..] => crash::turns(rest),
        ["fuzz", target] => fuzz::run(target, "60"),
        ["fuzz", target, seconds] => fuzz::run(target, seconds),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
