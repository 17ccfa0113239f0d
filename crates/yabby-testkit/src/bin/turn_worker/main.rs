//! Takes turns on a folder, as a task of `cargo xtask` wants it: as a victim to be killed, or against the
//! clock. Nothing else uses it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it has to say goes to its pipe")]

mod churn;
mod engine;
mod measure;
mod platform;

use std::path::Path;
use std::process::ExitCode;

use yabby_domain::json::Value;

const USAGE: &str = "usage: turn_worker churn            (orders on standard input)
       turn_worker finish FOLDER
       turn_worker measure FOLDER SESSIONS PARALLEL TURNS";

/// Whatever went wrong; whoever asked only wants its text.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let done = match (runtime, words.as_slice()) {
        (Err(error), _) => Err(error.into()),
        (Ok(runtime), ["churn"]) => runtime.block_on(churn::churn()),
        (Ok(runtime), ["finish", folder]) => runtime.block_on(churn::finish(Path::new(folder))),
        (Ok(runtime), ["measure", folder, sessions, parallel, turns]) => {
            runtime.block_on(measure::measure(Path::new(folder), sessions, parallel, turns))
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
