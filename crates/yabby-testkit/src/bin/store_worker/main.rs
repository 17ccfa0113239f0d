//! Does to yabby's stores what a task of `cargo xtask` wants done: as a partner of the reference, as a
//! victim to be killed, against the clock. Nothing else uses it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it has to say goes to its pipe")]

mod churn;
mod gate;
mod measure;
mod memory;
mod sample;
mod serve;
mod steps;

use std::path::Path;
use std::process::ExitCode;

use yabby_domain::json::Value;
use yabby_testkit::torture::Damage;

const USAGE: &str = "usage: store_worker serve
       store_worker churn
       store_worker context FILE
       store_worker make-store FILE SESSIONS
       store_worker make-transcript FILE ENTRIES whole|compacted
       store_worker make-torture FOLDER SESSIONS repairable|everything";

/// Whatever went wrong; whoever asked only wants its text.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["serve"] => serve::serve(),
        ["churn"] => churn::churn(),
        ["context", file] => measure::context(Path::new(file)),
        ["make-store", file, sessions] => sample::make_store(Path::new(file), sessions),
        ["make-transcript", file, entries, "whole"] => {
            sample::make_transcript(Path::new(file), entries, sample::Shape::Whole)
        }
        ["make-transcript", file, entries, "compacted"] => {
            sample::make_transcript(Path::new(file), entries, sample::Shape::Compacted)
        }
        ["make-torture", folder, sessions, "repairable"] => {
            sample::make_torture(Path::new(folder), sessions, Damage::Repairable)
        }
        ["make-torture", folder, sessions, "everything"] => {
            sample::make_torture(Path::new(folder), sessions, Damage::Everything)
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One line to whoever started us, in one write.
fn say(reply: &Value) -> Result<()> {
    use std::io::Write;
    let mut line = yabby_domain::json::stringify(reply);
    line.push('\n');
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes())?;
    Ok(out.flush()?)
}
