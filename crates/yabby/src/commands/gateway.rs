//! `yabby gateway`: the process that people leave running (`cli.md` §7).

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
    run: run::Arguments,
}

#[derive(Subcommand)]
enum Command {
    /// Run it, here
    Run(run::Arguments),
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Some(Command::Run(arguments)) => run::run(setting, arguments),
        None => run::run(setting, &arguments.run),
    }
}
