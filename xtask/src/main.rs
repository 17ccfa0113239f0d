//! `cargo xtask …`: automation that is not part of the product.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]

mod bench;
mod fuzz;
mod vectors;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask <task>

tasks:
  vectors [DIR]   copy the recorded cases from DIR (../shared/vectors) to vectors/
  bench rules     nanoseconds per rule: keys, freshness, routing, context, payloads
  fuzz TARGET [SECONDS]
                  fuzz keys, store_text, transcript_lines or directives (60 seconds)";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["vectors"] => vectors::refresh("../shared/vectors".as_ref()),
        ["vectors", source] => vectors::refresh(source.as_ref()),
        ["bench", "rules"] => bench::rules(),
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
