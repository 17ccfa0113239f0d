//! yabby, a personal-assistant gateway in one binary.

mod cli;
mod commands;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let command = cli::Cli::parse().command;
    let done = match command {
        cli::Command::History(arguments) => commands::history::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads us has closed the pipe, as `head` does; that is no failure of ours.
        Err(error) if commands::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
