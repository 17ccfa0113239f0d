//! `yabby gateway`: the process that people leave running (`cli.md` §7).

pub mod listen;
mod run;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::setting::Setting;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: run::Options,
}

#[derive(Subcommand)]
enum Command {
    /// Run it, here
    Run(run::Options),
}

impl Arguments {
    /// Whether the gateway itself is to run here, which has a log of its own.
    pub fn is_run(&self) -> bool {
        matches!(self.command, None | Some(Command::Run(_)))
    }
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Some(Command::Run(options)) => run::run(setting, options),
        None => run::run(setting, &arguments.run),
    }
}
